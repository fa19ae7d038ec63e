package execution

import (
	"context"
	"errors"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/faultpoint"
	"github.com/cruster/cruster/journal"
)

// Terminate ends an execution at once, running or paused: its code does not run again, so that
// nothing is cleaned up. It gives up its callees, and its locks are free. A turn in flight is
// aborted. It returns once that is durable, also if the execution had been terminated before.
func (x *Executions) Terminate(ctx context.Context, ref Ref, reason string) error {
	ended := make(chan error, 1)
	err := x.sendStop(ctx, ref, journal.TerminateMessage, reason, ended)
	if err == nil {
		return x.awaitEnd(ctx, ref, ended)
	}
	if abi.CodeOf(err) != abi.CodeAlreadyOver {
		return err
	}
	row, lerr := x.Load(ctx, ref)
	if lerr == nil && row.State == journal.Interrupted && abi.CodeOf(row.Error) == abi.CodeTerminated {
		return nil // by this very request, if its answer was lost
	}
	return errors.Join(lerr, err)
}

// awaitEnd waits for the end of a run that was told of a request to end it, and aborts its turns
// until then. It is not replayed for that: its code may never return.
func (x *Executions) awaitEnd(ctx context.Context, ref Ref, ended <-chan error) error {
	defer x.cancelTurns(ref.ID)()
	return x.await(ctx, ref, ended)
}

// end ends the execution without asking it. Its guest does not run again, so that nothing can keep
// it from ending; it gives up its callees.
func (r *run) end(i journal.Interrupt) {
	if r.row.Interrupt == nil { // the first request stands
		r.row.Interrupt = &i
	}
	stops, err := r.stopAll()
	if err != nil {
		r.rollBack(batch{}, err)
		return
	}
	failure := abi.Errorf(abi.CodeTerminated, "%s", i.Reason)
	failure.Clamp()
	u := journal.Update{
		State: journal.Interrupted, WakeAt: journal.Never, Error: failure, FinishedAt: max(r.execs.now(), r.row.CreatedAt), Waiting: r.row.Waiting,
	}
	w := journal.Write{ID: r.id, Run: r.row.Run, Chain: r.row.Chain, Update: &u, Send: stops}
	r.takeStops(&w)
	r.execs.Fault.Pass(faultpoint.TerminateBeforeCommit)
	r.commit("terminate", w, batch{}, func() bool {
		r.execs.Fault.Pass(faultpoint.TerminateAfterCommit)
		r.applyUpdate(u)
		r.execs.answering.breakOff(r.run)
		r.log.Info("terminated", "reason", i.Reason)
		r.finish()
		return false
	})
}
