package execution

import (
	"context"
	"errors"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/faultpoint"
	"github.com/cruster/cruster/journal"
)

// call starts another workflow for a workflow. A send is answered with the name of
// the execution, a call with its outcome. While a call waits nothing is held for it
// but a watcher.
func (t *task) call(ctx context.Context, b *abi.Call) {
	t.Fault.Pass(faultpoint.CallBefore)
	var child *journal.Execution
	failure, decided := t.retryUntilDecided(ctx, "start a workflow", func() (err error) {
		child, err = t.startChild(ctx, b)
		return err
	})
	if !decided {
		return
	}
	t.Fault.Pass(faultpoint.CallAfter)
	switch {
	case failure != nil:
		t.done(abi.Outcome{Error: failure})
	case t.op.Kind == abi.OpSend:
		t.done(abi.Outcome{Value: abi.MustMarshal(child.Name())})
	default:
		t.awaitChild(ctx, child.ID)
	}
}

// startChild starts the callee, or finds the one that this op started before a
// crash: its key may come from code that has changed since.
func (t *task) startChild(ctx context.Context, b *abi.Call) (*journal.Execution, error) {
	child, err := t.Store.ChildOf(ctx, t.row.ID, t.op.Number)
	if err == nil {
		return child, nil
	}
	if !errors.Is(err, journal.ErrNotFound) {
		return nil, journal.Coded("look for the callee", err)
	}
	if child, err = t.StartChild(ctx, t.row, t.op.Number, b); err != nil {
		return nil, err
	}
	if child.ID == t.row.ID {
		return nil, abi.Errorf(abi.CodeCallToItself, "%s called itself with its own key", t.row.Name())
	}
	return child, nil
}

// awaitChild has the parent told when the child is over.
func (t *task) awaitChild(ctx context.Context, child journal.ID) {
	watcher := t.Watchers.Add(child, func(row *journal.Execution) bool {
		if !row.State.Final() {
			return false
		}
		t.done(abi.Outcome{Value: row.Value, Error: row.Error})
		return true
	})
	context.AfterFunc(ctx, func() { t.Watchers.Remove(child, watcher) })
	// It may have finished before the watcher was there.
	failure, _ := t.retryUntilDecided(ctx, "look at the callee", func() error {
		row, err := t.Load(ctx, Ref{ID: child, Name: child.String()})
		if err != nil {
			return err
		}
		switch {
		case row.State.Final():
			t.Watchers.Notify(row)
		case row.State == journal.Running && row.WakeAt <= t.now():
			// Recovery may stand still because the host is full of callers.
			t.EnsureInMemory(child)
		}
		return nil
	})
	if failure != nil {
		t.done(abi.Outcome{Error: failure})
	}
}
