package execution

import (
	"errors"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/execution/ledger"
	"github.com/cruster/cruster/host/faultpoint"
	"github.com/cruster/cruster/journal"
)

// resume lets a paused execution go on.
func (r *run) resume() error {
	if r.row.State != journal.Paused {
		return notPaused(r.row)
	}
	r.deps.Fault.Pass(faultpoint.ResumeBeforeCommit)
	update := &journal.Update{
		State: journal.Running, WakeAt: journal.Now, Waiting: r.row.Waiting, Section: r.row.Section,
	}
	err := r.commitNow(rowUpdate(r.row, update))
	if errors.Is(err, journal.ErrUndecided) {
		// Nothing tells whether it goes on because of this request; but if it does it must be loaded.
		r.reload(ledger.Batch{})
		return journal.Coded("resume "+r.id.String(), err)
	}
	if err != nil {
		return err
	}
	r.deps.Fault.Pass(faultpoint.ResumeAfterCommit)
	r.log.Info("resumed", "interrupted", r.row.Interrupt != nil)
	r.reload(ledger.Batch{})
	r.failures.crashes = 0
	return nil
}

// notPaused refuses a request for paused executions alone.
func notPaused(row *journal.Execution) error {
	err := abi.Errorf(abi.CodeNotPaused, "%s is %s", row.Name(), row.State)
	if row.State.Final() {
		return err.WithHint("%s", abi.CodeAlreadyOver.Info().Hint)
	}
	return err
}
