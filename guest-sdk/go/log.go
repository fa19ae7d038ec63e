package cruster

import (
	"context"
	"log/slog"
	"time"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/guest-sdk/go/internal/guest"
)

// logHandler hands slog records to the host, with their attributes; the keys of groups are joined
// with dots. The host adds time and execution.
type logHandler struct {
	to     guest.Logger
	prefix string // put in front of attribute keys, from WithGroup
	attrs  []abi.LogAttr
}

var _ slog.Handler = (*logHandler)(nil)

func (h *logHandler) Enabled(context.Context, slog.Level) bool { return true }

func (h *logHandler) Handle(_ context.Context, r slog.Record) error {
	attrs := h.attrs[:len(h.attrs):len(h.attrs)]
	r.Attrs(func(a slog.Attr) bool {
		attrs = appendAttr(attrs, h.prefix, a)
		return true
	})
	guest.LogAt(h.to, r.PC, int32(r.Level), string(abi.EncodeLog(r.Message, attrs)))
	return nil
}

func (h *logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	all := h.attrs[:len(h.attrs):len(h.attrs)]
	for _, a := range attrs {
		all = appendAttr(all, h.prefix, a)
	}
	return &logHandler{to: h.to, prefix: h.prefix, attrs: all}
}

func (h *logHandler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	return &logHandler{to: h.to, prefix: h.prefix + name + ".", attrs: h.attrs}
}

func appendAttr(to []abi.LogAttr, prefix string, a slog.Attr) []abi.LogAttr {
	v := a.Value.Resolve()
	if a.Equal(slog.Attr{}) {
		return to
	}
	if v.Kind() == slog.KindGroup {
		if a.Key != "" {
			prefix += a.Key + "."
		}
		for _, g := range v.Group() {
			to = appendAttr(to, prefix, g)
		}
		return to
	}
	return append(to, abi.LogAttr{Key: prefix + a.Key, Value: attrValue(v)})
}

// attrValue is a value as a log of JSON has it: numbers and truths as they are, all else as text.
func attrValue(v slog.Value) any {
	switch v.Kind() {
	case slog.KindBool:
		return v.Bool()
	case slog.KindInt64:
		return v.Int64()
	case slog.KindUint64:
		return v.Uint64()
	case slog.KindFloat64:
		return v.Float64()
	case slog.KindTime:
		return v.Time().Format(time.RFC3339Nano)
	default:
		return v.String()
	}
}
