package conformance

import (
	"context"
	"log/slog"
	"sync"

	"github.com/cruster/cruster/abi"
)

// logKeeper keeps the log lines of executions.
type logKeeper struct {
	mu    sync.Mutex
	lines map[string][]string // guarded by mu; execution → "LEVEL message"
}

func (k *logKeeper) logger() *slog.Logger { return slog.New(&keepHandler{keeper: k}) }

// of returns the lines of one execution.
func (k *logKeeper) of(execution string) []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return append([]string{}, k.lines[execution]...)
}

// keepHandler takes the name of the execution from the attribute "execution".
type keepHandler struct {
	keeper    *logKeeper
	execution string
}

func (h *keepHandler) Enabled(_ context.Context, level slog.Level) bool {
	return level >= slog.LevelInfo
}

func (h *keepHandler) Handle(_ context.Context, r slog.Record) error {
	if h.execution == "" {
		return nil
	}
	h.keeper.mu.Lock()
	defer h.keeper.mu.Unlock()
	if h.keeper.lines == nil {
		h.keeper.lines = map[string][]string{}
	}
	line := r.Level.String() + " " + r.Message
	r.Attrs(func(a slog.Attr) bool {
		line += " " + abi.LogAttr{Key: a.Key, Value: a.Value.Any()}.String()
		return true
	})
	h.keeper.lines[h.execution] = append(h.keeper.lines[h.execution], line)
	return nil
}

func (h *keepHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	out := *h
	for _, a := range attrs {
		if a.Key == "execution" {
			out.execution = a.Value.String()
		}
	}
	return &out
}

func (h *keepHandler) WithGroup(string) slog.Handler { return h }
