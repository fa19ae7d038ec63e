package cruster

import (
	"errors"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/guest-sdk/go/internal/guest"
)

// recordingHost keeps the log records of a guest.
type recordingHost struct {
	guest.Host
	records []string
}

func (h *recordingHost) Log(level int32, text string) {
	h.records = append(h.records, slog.Level(level).String()+" "+abi.LogText([]byte(text)))
}

func TestLogHandler(t *testing.T) {
	t.Parallel()
	host := &recordingHost{}
	logger := slog.New(&logHandler{to: host})
	logger.Debug("plain")
	logger.Info("attributes", "n", 1, "text", "two words", "empty", "", "error", errors.New("a=b"))
	logger.With("a", 1).WithGroup("g").With("b", 2).Warn("grouped", "c", 3)
	logger.WithGroup("").Error(
		"nested", slog.Group("g", "x", 1, slog.Group("h", "y", 2)), slog.Group("", "z", 3), slog.Attr{},
	)
	require.Equal(t, []string{
		"DEBUG plain",
		`INFO attributes n=1 text="two words" empty="" error="a=b"`,
		"WARN grouped a=1 g.b=2 g.c=3",
		"ERROR nested g.x=1 g.h.y=2 z=3",
	}, host.records)
}
