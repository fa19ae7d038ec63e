package instance

import (
	"log/slog"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/entity/target"
	"github.com/cruster/cruster/host/guest"
	"github.com/cruster/cruster/host/guestlog"
)

// LogCrash logs that the code of an operation has crashed: its caller is told, and its author looks here.
func LogCrash(logger *slog.Logger, ref target.Ref, operation string, err *abi.Error) {
	logger.Warn(
		"an operation crashed", "entity", ref.String(), "operation", operation, "code", err.Code, "error",
		guestlog.Error(err),
	)
}

// WriteLog writes the log of an invocation.
func WriteLog(logger *slog.Logger, ref target.Ref, lines []guest.LogLine) {
	log := logger.With("entity", ref.String())
	for _, line := range lines {
		guestlog.Write(log, line.Level, []byte(line.Message))
	}
}
