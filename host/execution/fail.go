package execution

import (
	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/execution/ledger"
	"github.com/cruster/cruster/host/faultpoint"
	"github.com/cruster/cruster/journal"
)

// fail makes the end of a paused execution durable and tells all watchers.
func (r *run) fail(m failRequest) error {
	finishedAt := max(m.at, r.row.CreatedAt)
	if failedBefore(r.row, finishedAt) {
		return nil
	}
	if r.row.State != journal.Paused {
		return notPaused(r.row)
	}
	failure := abi.Errorf(abi.CodeFailedByOperator, "an operator failed it: %s", m.reason)
	if r.row.Error != nil {
		failure.Message += "; it was paused because of " + r.row.Error.Error()
	}
	failure.Clamp()
	u := journal.Update{
		State: journal.Failed, WakeAt: journal.Never, Error: failure, FinishedAt: finishedAt, Waiting: r.row.Waiting,
	}
	stops, err := r.callees().stopAll()
	if err != nil {
		return err
	}
	w := rowUpdate(r.row, &u)
	w.Send = stops
	ledger.Acknowledge(&w, r.mail.asked, r.row.Interrupt)
	r.deps.Fault.Pass(faultpoint.FailBeforeCommit)
	if err := r.commitSends(w); err != nil {
		return err
	}
	r.deps.Fault.Pass(faultpoint.FailAfterCommit)
	r.applyUpdate(u)
	r.log.Info("failed by an operator", "reason", m.reason)
	r.finish()
	return nil
}

// failedBefore tells whether this very request has already changed the row: the answer to its
// commit was lost, and it is received a second time.
func failedBefore(row *journal.Execution, finishedAt int64) bool {
	failure := row.Error
	return failure != nil && failure.Code == abi.CodeFailedByOperator && row.FinishedAt == finishedAt
}
