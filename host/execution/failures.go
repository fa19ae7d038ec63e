package execution

import (
	"log/slog"
	"time"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/guestlog"
	"github.com/cruster/cruster/journal"
)

// failedAttempt is an attempt of an activity that has failed, for the log of the host: the journal
// has it too, for readers who look for it. The zero value stands for an op that was no longer
// waited for.
type failedAttempt struct {
	activity string
	number   uint32
	err      *abi.Error
	// last says that no other attempt follows; if one does, then after delay.
	last  bool
	delay time.Duration
}

// writeTo logs the failure. An attempt that is repeated is news, and an activity that is given up
// is a warning: the reaction of the workflow is not known yet.
func (f failedAttempt) writeTo(log *slog.Logger) {
	switch {
	case f.err == nil:
	case f.last:
		log.Warn("an activity failed", "activity", f.activity, "attempts", f.number, "code", f.err.Code, "error", guestlog.Error(f.err))
	default:
		log.Info("an attempt failed; trying again", "activity", f.activity, "attempt", f.number, "again", f.delay, "code", f.err.Code, "error", guestlog.Error(f.err))
	}
}

// logEnd logs the end of the execution. Only a failure is worth a line on most hosts; one by an
// operator has it.
func (r *run) logEnd() {
	if err := r.row.Error; r.row.State == journal.Failed && err != nil && err.Code != abi.CodeFailedByOperator {
		r.log.Warn("the workflow failed", "code", err.Code, "error", guestlog.Error(err))
		return
	}
	r.log.Debug("finished", "state", r.row.State)
}
