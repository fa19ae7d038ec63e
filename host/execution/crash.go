package execution

import (
	"errors"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/execution/ledger"
	"github.com/cruster/cruster/host/guest"
	"github.com/cruster/cruster/journal"
)

// crashLimit is how often a guest may crash in the same place before its execution is paused.
const crashLimit = 3

// crashed handles a turn that the guest did not survive, or a replay that was not possible. It reports whether the run
// goes on: then the caller has the guest try again.
func (r *run) crashed(b ledger.Batch, err error) bool {
	r.instance.Drop()
	if r.deps.Host.Over() {
		return false
	}
	if abi.IsTransient(err) {
		r.rollBack(b, err)
		return false
	}
	var coded *abi.Error
	errors.As(err, &coded)
	r.failures.crashes++
	r.deps.metrics.crashes.Inc()
	again, reason := afterCrash(coded, guest.IsTrap(err), r.failures.crashes)
	if !again {
		r.pause(b, reason)
		return false
	}
	r.log.Warn("the workflow crashed; replaying", "crash", r.failures.crashes, "error", coded)
	if len(b.Entries) == 0 {
		r.life.startOver()
	}
	return true
}

// afterCrash decides whether a guest that crashed for the nth time in a row is run again. If not, it says why the
// execution is paused.
func afterCrash(err *abi.Error, trapped bool, crashes int) (again bool, reason *abi.Error) {
	again = trapped && err.Retryable || err.Code == abi.CodeModuleInit || abi.IsOfHost(err)
	switch {
	case again && crashes < crashLimit:
		return true, nil
	case !trapped || !err.Retryable:
		return false, err
	default:
		return false, abi.Errorf(abi.CodeCrashLoop, "the workflow crashed %d times in a row; last: %v", crashes, err)
	}
}

func (r *run) replayFailed(err error) error {
	if errors.Is(err, journal.ErrCorrupt) {
		return err // the quarantine forgets the run, once it has reported it
	}
	if r.deps.Host.Over() || abi.IsTransient(err) {
		r.unload()
		return err
	}
	r.crashed(ledger.Batch{}, err)
	if r.pendingWrite != nil {
		return nil // its pause
	}
	if r.row == nil {
		return err
	}
	if r.row.State == journal.Running {
		// A crash that may pass: the next attempt loads afresh.
		r.unload()
		return err
	}
	return nil
}

// logCrashed releases the log lines of a turn in which the guest crashed. The turn is taken again, so
// they come once for crashes in a row. A turn aborted by a host shutdown did not crash.
func (r *run) logCrashed(turn guest.Turn, err error) {
	if r.failures.crashes == 0 && guest.IsTrap(err) && !r.deps.Host.Over() {
		r.turnLog().writeCrashed(turn)
	}
}
