package task

import (
	"context"
	"errors"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/execution/ledger"
	"github.com/cruster/cruster/host/faultpoint"
	"github.com/cruster/cruster/journal"
)

// call starts another workflow for a workflow. A send is answered with the name of the execution, a call with its
// outcome: see host/execution/results.go.
func (t *task) call(ctx context.Context, b *abi.Call) {
	t.performer.Fault.Pass(faultpoint.CallBefore)
	var child *journal.Execution
	failure, decided := t.performer.retryUntilDecided(ctx, "start a workflow", func() (err error) {
		child, err = t.startChild(ctx, b)
		return err
	})
	if !decided {
		return
	}
	t.performer.Fault.Pass(faultpoint.CallAfter)
	switch {
	case failure != nil:
		t.done(abi.Outcome{Error: failure})
	case t.op.Kind == abi.OpSend:
		t.done(abi.Outcome{Value: abi.MustMarshal(child.Name())})
	default:
		t.awaitChild(ctx, child)
	}
}

// startChild starts the callee, or finds the callee of this step from before a crash: its key may
// come from code that has changed since, and it may have been deleted by retention.
func (t *task) startChild(ctx context.Context, b *abi.Call) (*journal.Execution, error) {
	step := journal.Caller{ID: t.row.ID, Run: t.row.Run, Step: t.step}
	child, err := t.performer.Store.Callee(ctx, step)
	switch {
	case err == nil:
		return child, nil
	case errors.Is(err, journal.ErrSwept):
		return nil, calleeSwept(b.Workflow)
	case !errors.Is(err, journal.ErrNotFound):
		return nil, journal.Coded("look for the callee", err)
	}
	call := *b
	call.OnCancel = ""
	if t.op.Kind == abi.OpCall {
		call.OnCancel = ledger.PolicyOf(b)
	}
	for {
		child, existed, err := t.performer.Callees.LaunchCallee(ctx, t.row, step, &call, t.op.Kind == abi.OpCall)
		if err == nil {
			child = child.Brief()
		}
		switch {
		case err != nil:
			return nil, err
		case child.ID == t.row.ID:
			return nil, abi.Errorf(abi.CodeCallToItself, "%s called itself with its own key", t.row.Name())
		case !existed || child.Parent == step:
			return child, nil
		}
		if err := t.link(step, child); !errors.Is(err, journal.ErrSwept) {
			return child, err
		}
	}
}

// link makes durable that the step came to an execution which another caller had started. Without it a step that is
// performed again after retention has deleted that execution would start it anew; and retention would delete it while
// this one waits for it. ErrSwept says that retention was faster: nothing has come of it yet, so the step may look for
// another one.
func (t *task) link(step journal.Caller, child *journal.Execution) error {
	t.performer.Fault.Pass(faultpoint.LinkBeforeCommit)
	_, err := t.performer.Committer.Commit(journal.Write{
		ID:    t.row.ID,
		Run:   t.row.Run,
		Chain: t.row.Chain,
		Link:  &journal.Link{Step: step.Step, Callee: child.ID, Chain: child.Chain},
	})
	if errors.Is(err, journal.ErrSwept) {
		return err
	}
	if err != nil {
		return journal.Coded("link "+child.Name(), err)
	}
	t.performer.Fault.Pass(faultpoint.LinkAfterCommit)
	return nil
}
