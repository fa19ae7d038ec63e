package execution

import (
	"log/slog"
	"time"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/execution/ledger"
	"github.com/cruster/cruster/host/guestlog"
	"github.com/cruster/cruster/journal"
)

// failures counts the failures of a run, one after the other.
type failures struct {
	crashes  int           // of the guest
	setbacks int           // of the store
	rest     time.Duration // that the run wants after the last setback
}

// backOff has the run rest a little, longer each time.
func (f *failures) backOff() time.Duration {
	f.setbacks++
	f.rest = min(time.Duration(f.setbacks)*50*time.Millisecond, 5*time.Second)
	return f.rest
}

// takeRest hands over the rest that the run wants.
func (f *failures) takeRest() time.Duration {
	rest := f.rest
	f.rest = 0
	return rest
}

// logFailed logs a failed attempt for the host: the journal has it too, for readers who look for it.
// An attempt that is repeated is news, and an activity that is given up is a warning: the reaction
// of the workflow is not known yet.
func logFailed(log *slog.Logger, f ledger.FailedAttempt) {
	switch {
	case f.Err == nil:
	case f.Last:
		log.Warn(
			"an activity failed", "activity", f.Activity, "attempts", f.Number, "code", f.Err.Code, "error",
			guestlog.Error(f.Err),
		)
	default:
		log.Info(
			"an attempt failed; trying again", "activity", f.Activity, "attempt", f.Number, "again", f.Delay, "code",
			f.Err.Code, "error", guestlog.Error(f.Err),
		)
	}
}

// logEnd logs the end of the execution. Only a failure is worth a line on most hosts; one by an
// operator has it.
func logEnd(log *slog.Logger, row *journal.Execution) {
	if err := row.Error; row.State == journal.Failed && err != nil && err.Code != abi.CodeFailedByOperator {
		log.Warn("the workflow failed", "code", err.Code, "error", guestlog.Error(err))
		return
	}
	log.Debug("finished", "state", row.State)
}
