package execution

import (
	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/execution/ledger"
	"github.com/cruster/cruster/host/execution/request"
	"github.com/cruster/cruster/host/faultpoint"
	"github.com/cruster/cruster/journal"
)

// end ends the execution without asking it. Its guest does not run again, so that nothing can keep
// it from ending; it gives up its callees.
func (r *run) end(i journal.Interrupt) {
	if r.row.Interrupt == nil { // the first request stands
		r.row.Interrupt = &i
	}
	stops, err := r.callees().stopAll()
	if err != nil {
		r.rollBack(ledger.Batch{}, err)
		return
	}
	failure := abi.Errorf(abi.CodeTerminated, "%s", i.Reason)
	failure.Clamp()
	u := journal.Update{
		State:      journal.Interrupted,
		WakeAt:     journal.Never,
		Error:      failure,
		FinishedAt: max(r.deps.now(), r.row.CreatedAt),
		Waiting:    r.row.Waiting,
	}
	w := rowUpdate(r.row, &u)
	w.Send = stops
	ledger.Acknowledge(&w, r.mail.asked, r.row.Interrupt)
	r.deps.Fault.Pass(faultpoint.TerminateBeforeCommit)
	r.commit("terminate", w, ledger.Batch{}, func() bool {
		r.deps.Fault.Pass(faultpoint.TerminateAfterCommit)
		r.applyUpdate(u)
		r.deps.answers.answering.breakOff(r.run)
		r.log.Info("terminated", "reason", i.Reason)
		r.finish()
		return false
	})
}

// replyAtEnd replies to a request to terminate the run once it has ended.
func (r *run) replyAtEnd(reply chan<- error) {
	switch {
	case reply == nil:
	case r.row == nil || r.pendingWrite != nil:
		r.hand.requeue(ofChain{r.chain, endAwaited{reply}}) // its end is not durable yet
	case r.row.State.Final() && abi.CodeOf(r.row.Error) != abi.CodeTerminated:
		answer(reply, request.AlreadyOver(r.row)) // it came to its end by itself
	default:
		answer(reply, nil)
	}
}
