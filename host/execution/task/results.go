package task

import (
	"context"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/execution/request"
	"github.com/cruster/cruster/journal"
)

// awaitChild has the run learn of the end of a callee: it has ended, or will send its result.
func (t *task) awaitChild(ctx context.Context, child *journal.Execution) {
	failure, decided := t.performer.retryUntilDecided(ctx, "wait for a workflow", func() (err error) {
		if child.State.Final() || t.willBeSent(child) {
			return nil
		}
		err = t.askForResult(ctx, child)
		switch abi.CodeOf(err) {
		case abi.CodeAlreadyOver, abi.CodeExecutionNotFound: // another run may have taken its place meanwhile
			if child, err = t.reread(ctx, child); err == nil && !child.State.Final() {
				err = abi.Errorf(abi.CodeOverloaded, "%s has just been started over", child.Name())
			}
		case abi.CodeHostFault: // it will be paused, and can be resumed
			err = abi.Errorf(abi.CodeOverloaded, "%s cannot be told who waits for it: %v", child.Name(), err)
		}
		return err
	})
	switch {
	case !decided:
	case failure != nil:
		t.done(abi.Outcome{Error: failure})
	case child.State.Final():
		t.readEnd(ctx, child)
	default:
		t.post(Awaits{t.step})
	}
}

// askForResult asks a callee that the step has found to send its result.
func (t *task) askForResult(ctx context.Context, child *journal.Execution) error {
	row, err := t.performer.Rows.Load(ctx, request.RefTo(child))
	if err != nil {
		return err
	}
	return t.performer.Messages.Send(ctx, row, request.AwaitMessage(t.row, t.step, t.performer.now()))
}

// willBeSent tells whether the callee sends its result to the step without being asked.
func (t *task) willBeSent(child *journal.Execution) bool {
	return child.Parent == journal.Caller{ID: t.row.ID, Run: t.row.Run, Step: t.step} && child.Pinned.ReplyTo != nil &&
		t.row.MovedAt == 0
}

// reread reads the row of a callee again.
func (t *task) reread(ctx context.Context, child *journal.Execution) (*journal.Execution, error) {
	row, err := t.performer.Rows.LoadRun(ctx, request.RefTo(child))
	switch {
	case abi.CodeOf(err) == abi.CodeExecutionNotFound:
		return child, calleeSwept(child.Name())
	case err != nil:
		return child, err
	}
	return row, nil
}
