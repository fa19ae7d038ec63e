package task

import (
	"context"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/execution/largevalue"
	"github.com/cruster/cruster/host/execution/ledger"
	"github.com/cruster/cruster/host/execution/request"
	"github.com/cruster/cruster/host/hostfault"
	"github.com/cruster/cruster/journal"
)

// readEnd posts how a callee has ended. A large value is read for that when it is the turn of the task: there may be
// thousands that call one execution.
func (t *task) readEnd(ctx context.Context, child *journal.Execution) {
	if child.LeftOut.Value == 0 {
		t.calleeOver(child)
		return
	}
	t.performer.reading.Go(t.id, func() {
		if f := hostfault.Guard(func() { t.readCallee(ctx, child) }); f != nil {
			t.post(Fault{t.step, t.reserved, f})
		}
	})
}

func (t *task) readCallee(ctx context.Context, child *journal.Execution) {
	var row *journal.Execution
	failure, decided := t.performer.retryUntilDecided(ctx, "read the end of a workflow", func() (err error) {
		row, err = t.performer.Rows.LoadRun(ctx, request.RefTo(child))
		if err == nil {
			row, err = t.readResultOf(ctx, row)
		}
		if abi.CodeOf(err) == abi.CodeExecutionNotFound {
			err = calleeSwept(child.Name())
		}
		return err
	})
	switch {
	case !decided:
	case failure != nil:
		t.done(abi.Outcome{Error: failure})
	default:
		t.calleeOver(row)
	}
}

// readResultOf reads the result of another execution for a workflow. It waits for the memory of the read; then the
// result is counted as an outcome that was not delivered.
func (t *task) readResultOf(ctx context.Context, row *journal.Execution) (*journal.Execution, error) {
	if bytes := int64(row.LeftOut.Input + largevalue.DeliveryCopies*row.LeftOut.Value); bytes > largevalue.MaxInHand {
		paid, err := t.performer.Delivering.Acquire(ctx, min(bytes, t.performer.Delivering.Total()))
		if err != nil {
			return nil, err
		}
		defer paid.Release()
	}
	return t.performer.Rows.Whole(ctx, row)
}

func (t *task) calleeOver(child *journal.Execution) {
	outcome := abi.Outcome{Value: child.Value, Error: child.Error}
	t.came(outcome)
	t.post(CalleeOver{ledger.Result{Callee: child.Run, Step: t.step, At: child.FinishedAt, Outcome: outcome}})
}

func calleeSwept(name string) *abi.Error {
	return abi.Errorf(abi.CodeExecutionNotFound, "%s has finished, and was deleted before its result was read", name)
}
