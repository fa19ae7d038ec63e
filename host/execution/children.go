package host

import (
	"context"
	"errors"
	"strings"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// performCall starts another workflow for a workflow. A send is answered with
// the name of the execution, a call with its outcome. While a call waits nothing
// is held for it but an entry in the engine's list of waiters.
func (e *Engine) performCall(ctx context.Context, r *run, row *journal.Execution, o journal.Op, b *abi.Call) {
	e.fault(FaultCallBefore)
	var child *journal.Execution
	failure, ok := e.persist(ctx, "start a workflow", func() (err error) {
		child, err = e.startChild(ctx, row, o.Number, b)
		return err
	})
	if !ok {
		return
	}
	e.fault(FaultCallAfter)
	switch {
	case failure != nil:
		e.done(r.id, o.Number, abi.Outcome{Error: failure})
	case o.Kind == abi.OpSend:
		e.done(r.id, o.Number, abi.Outcome{Value: abi.MustMarshal(child.Name())})
	default:
		e.awaitChild(ctx, r.id, o.Number, child.ID)
	}
}

// startChild starts the callee, or finds the one that this op started before
// a crash: its key may come from code that has changed since.
func (e *Engine) startChild(ctx context.Context, parent *journal.Execution, number uint32, b *abi.Call) (*journal.Execution, error) {
	child, err := e.store.ChildOf(ctx, parent.ID, number)
	if err == nil {
		return child, nil
	}
	if !errors.Is(err, journal.ErrNotFound) {
		return nil, storeError("look for the callee", err)
	}
	workflow := b.Workflow
	if !strings.Contains(workflow, "/") {
		deployment, _, _ := strings.Cut(parent.Workflow, "/")
		workflow = deployment + "/" + workflow
	}
	child, _, err = e.startWorkflow(ctx, StartRequest{
		Namespace: parent.Namespace, Workflow: workflow, Input: b.Input, Key: b.Key, KeyMode: b.KeyMode,
	}, parent.ID, number)
	if err != nil {
		return nil, err
	}
	if child.ID == parent.ID {
		return nil, abi.Errorf(abi.CodeCallToItself, "%s called itself with its own key", parent.Name())
	}
	return child, nil
}

// awaitChild has the parent told when the child is over.
func (e *Engine) awaitChild(ctx context.Context, parent journal.ID, number uint32, child journal.ID) {
	tell := func(row *journal.Execution) bool {
		if !row.State.Final() {
			return false
		}
		e.done(parent, number, abi.Outcome{Value: row.Value, Error: row.Error})
		return true
	}
	w := e.waiters.add(child, tell)
	context.AfterFunc(ctx, func() { e.waiters.remove(child, w) })
	// It may have finished before anybody listened.
	failure, _ := e.persist(ctx, "look at the callee", func() error {
		row, err := e.loadRow(ctx, child, child.String())
		if err != nil {
			return err
		}
		switch {
		case row.State.Final():
			e.waiters.notify(row)
		case row.State == journal.Running && row.WakeAt <= e.now().UnixNano():
			// Recovery may stand still because the host is full of callers.
			e.nudge(child)
		}
		return nil
	})
	if failure != nil {
		e.done(parent, number, abi.Outcome{Error: failure})
	}
}
