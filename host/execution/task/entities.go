package task

import (
	"context"
	"errors"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/op"
	"github.com/cruster/cruster/journal"
)

// awaits notes that the answer will be sent, if err says so.
func (t *task) awaits(err error) error {
	if !errors.Is(err, ErrLeft) {
		return err
	}
	t.hasLeft = true
	t.post(Awaits{t.step})
	return nil
}

// askEntity calls an entity for a workflow, or sends it something. The entity knows the step
// again: after a crash it is asked once more, and answers the same.
func (t *task) askEntity(ctx context.Context, b *abi.EntityMessage) {
	step := journal.Caller{ID: t.row.ID, Run: t.row.Run, Step: t.step}
	outcome := abi.Outcome{Value: abi.Nil}
	failure, decided := t.performer.retryUntilDecided(ctx, "ask an entity", func() (err error) {
		if t.op.Kind == abi.OpEntitySend {
			err = t.performer.Entities.Send(ctx, t.row, step, b)
			if t.row.Section != (journal.StepID{}) && abi.CodeOf(err) == abi.CodeMailboxFull {
				// The receiver may be held by a run that waits for room held by this one.
				outcome, err = abi.Outcome{Error: abi.AsError(err)}, nil
			}
			return err
		}
		outcome, err = t.performer.Entities.Call(ctx, t.row, step, b, t.left)
		return t.awaits(err)
	})
	if !decided || t.hasLeft {
		return
	}
	if failure != nil {
		outcome = abi.Outcome{Error: failure}
	}
	t.came(outcome)
	t.done(outcome)
}

// lock locks entities for a workflow. Locks acquired before a crash are still held.
func (t *task) lock(ctx context.Context, b *abi.Lock) {
	step := journal.Caller{ID: t.row.ID, Run: t.row.Run, Step: t.step}
	failure, decided := t.performer.retryUntilDecided(ctx, "lock entities", func() error {
		return t.awaits(t.performer.Entities.Lock(ctx, t.row, step, b, t.left))
	})
	if decided && !t.hasLeft {
		t.done(op.OutcomeOf(abi.Nil, failure))
	}
}
