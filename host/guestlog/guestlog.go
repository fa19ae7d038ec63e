// Package guestlog writes the log records of guests to the log of the host: their text, and their attributes
// as attributes, so that `"cents":500` can be searched for.
//
// A guest cannot pass something off as the host's: an attribute with a name that the host gives
// itself is written behind "guest.".
//
// The package imports abi and nothing else of Cruster.
package guestlog

import (
	"context"
	"log/slog"
	"strings"

	"github.com/cruster/cruster/abi"
)

// own are the names of attributes that hosts give: the logging guest's, and log/slog's.
var own = map[string]bool{
	"activity":      true,
	"attempt":       true,
	"crashed":       true,
	"entity":        true,
	"execution":     true,
	"namespace":     true,
	"operation":     true,
	slog.LevelKey:   true,
	slog.MessageKey: true,
	slog.SourceKey:  true,
	slog.TimeKey:    true,
}

// Write writes a record of a guest.
func Write(to *slog.Logger, level int32, record []byte) {
	text, attrs := abi.DecodeLog(record)
	out := make([]slog.Attr, 0, len(attrs))
	for _, a := range attrs {
		key := a.Key
		if own[key] {
			key = "guest." + key
		}
		out = append(out, slog.Any(key, a.Value))
	}
	to.LogAttrs(context.Background(), slog.Level(level), text, out...)
}

// maxError is how much of the text of an error is logged, in bytes: the code that fails decides how long it is and how
// often it comes. The journal, or the caller, has all of it.
const maxError = 500

// Error is the text of an error of a guest, for the log.
func Error(err *abi.Error) string {
	if len(err.Message) <= maxError {
		return err.Message
	}
	return strings.ToValidUTF8(err.Message[:maxError], "") + "…"
}
