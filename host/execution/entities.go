package execution

import (
	"context"
	"errors"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// ErrLeft says that an entity will send its answer, as the caller wanted to leave memory.
var ErrLeft = errors.New("execution: the entity will send its answer")

// Entities performs the operations of executions on entities. A request of a step is performed
// once, however often it is sent. The row of a caller has the critical section in which it asks, if
// any. A caller that wants to leave memory while it waits closes left, and may get ErrLeft: then
// the answer comes as the result of a callee does.
type Entities interface {
	// Call has an entity perform an operation, and returns the outcome.
	Call(
		ctx context.Context, caller *journal.Execution, step journal.Caller, call *abi.EntityMessage,
		left <-chan struct{},
	) (abi.Outcome, error)
	// Lock locks entities for a step, one after the other. Those that are locked stay so, also if
	// others are not, until the section of the step ends. If the answer comes later, it says that
	// the step is to ask again.
	Lock(
		ctx context.Context, caller *journal.Execution, step journal.Caller, lock *abi.Lock, left <-chan struct{},
	) error
	// Unlocked says that the section of a step has ended.
	Unlocked(step journal.Caller)
	// Send hands an operation over to an entity, and returns once that is durable.
	Send(ctx context.Context, caller *journal.Execution, step journal.Caller, call *abi.EntityMessage) error
}

// Answered tells callers that have left memory of answers of entities, which are in their inboxes.
func (x *Executions) Answered(sent []journal.Sent) { x.announce(sent) }

// awaits notes that the answer will be sent, if err says so.
func (t *task) awaits(err error) error {
	if !errors.Is(err, ErrLeft) {
		return err
	}
	t.hasLeft = true
	t.post(opAwaits{t.step})
	return nil
}

// askEntity calls an entity for a workflow, or sends it something. The entity knows the step
// again: after a crash it is asked once more, and answers the same.
func (t *task) askEntity(ctx context.Context, b *abi.EntityMessage) {
	step := journal.Caller{ID: t.row.ID, Run: t.row.Run, Step: t.step}
	outcome := abi.Outcome{Value: abi.Nil}
	failure, decided := t.execs.retryUntilDecided(ctx, "ask an entity", func() (err error) {
		if t.op.Kind == abi.OpEntitySend {
			err = t.execs.Entities.Send(ctx, t.row, step, b)
			if t.row.Section != (journal.StepID{}) && abi.CodeOf(err) == abi.CodeMailboxFull {
				// The receiver may be held by a run that waits for room held by this one.
				outcome, err = abi.Outcome{Error: abi.AsError(err)}, nil
			}
			return err
		}
		outcome, err = t.execs.Entities.Call(ctx, t.row, step, b, t.left)
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
