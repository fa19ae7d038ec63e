package execution

import (
	"context"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// Entities is what executions have entities do. What is asked for a step is done once, however
// often it is asked for. The row of a caller has the critical section in which it asks, if any.
type Entities interface {
	// Call has an entity perform an operation, and returns the outcome.
	Call(ctx context.Context, caller *journal.Execution, step journal.Caller, call *abi.EntityMessage) (abi.Outcome, error)
	// Lock locks entities for a step, one after the other. Those that are locked stay so, also
	// if others are not, until the section of the step is over.
	Lock(ctx context.Context, caller *journal.Execution, step journal.Caller, lock *abi.Lock) error
	// Unlocked says that the section of a step is over.
	Unlocked(step journal.Caller)
	// Send hands an operation over to an entity, and returns once that is durable.
	Send(ctx context.Context, caller *journal.Execution, step journal.Caller, call *abi.EntityMessage) error
}

// askEntity calls an entity for a workflow, or sends it something. The entity knows the step
// again: after a crash it is asked once more, and answers the same.
func (t *task) askEntity(ctx context.Context, b *abi.EntityMessage) {
	step := journal.Caller{ID: t.row.ID, Run: t.row.Run, Step: t.step}
	outcome := abi.Outcome{Value: abi.Nil}
	failure, decided := t.retryUntilDecided(ctx, "ask an entity", func() (err error) {
		if t.op.Kind == abi.OpEntitySend {
			err = t.Entities.Send(ctx, t.row, step, b)
			if t.row.Section != (journal.StepID{}) && abi.CodeOf(err) == abi.CodeMailboxFull {
				// The receiver may be held by a run that waits for room in what this one holds.
				outcome, err = abi.Outcome{Error: abi.AsError(err)}, nil
			}
			return err
		}
		outcome, err = t.Entities.Call(ctx, t.row, step, b)
		return err
	})
	if !decided {
		return
	}
	if failure != nil {
		outcome = abi.Outcome{Error: failure}
	}
	t.came(outcome)
	t.done(outcome)
}
