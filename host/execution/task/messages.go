package task

import (
	"context"
	"errors"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/execution/request"
	"github.com/cruster/cruster/host/op"
	"github.com/cruster/cruster/journal"
)

// resolve settles a deferred for a workflow. The answer is true if this settled it, false if it was settled before.
// After a crash it is asked again and must say the same, so the settlement bears an origin that is this step's alone
// and by which it is known again.
func (t *task) resolve(ctx context.Context, b *abi.Resolve) {
	name := b.Execution
	if name == "" {
		name = t.row.Name()
	}
	settled := true
	failure, decided := t.performer.retryUntilDecided(ctx, "resolve a deferred", func() error {
		ref, err := request.RefOf(t.row.Namespace, name)
		if err != nil {
			return err
		}
		err = t.performer.Messages.Settle(ctx, ref, journal.Deferred{
			Name: b.Name, Value: b.Value, Error: b.Error, Origin: journal.OriginOf(t.row.Run, t.step),
		})
		if errors.Is(err, &abi.Error{Code: abi.CodeDeferredSettled}) {
			settled, err = false, nil
		}
		return err
	})
	if decided {
		t.done(op.OutcomeOf(abi.MustMarshal(settled), failure))
	}
}

// interrupt asks another execution to stop for a workflow. If that has been asked and has
// ended since, this very step may have asked it, before a crash.
func (t *task) interrupt(ctx context.Context, b *abi.Interrupt) {
	failure, decided := t.performer.retryUntilDecided(ctx, "interrupt an execution", func() error {
		ref, err := request.RefOf(t.row.Namespace, b.Execution)
		if err != nil {
			return err
		}
		err = t.performer.Messages.Interrupt(ctx, ref, b.Reason)
		if abi.CodeOf(err) != abi.CodeAlreadyOver {
			return err
		}
		row, lerr := t.performer.Rows.Load(ctx, ref)
		if lerr == nil && row.Interrupt != nil {
			return nil
		}
		return errors.Join(lerr, err)
	})
	if decided {
		t.done(op.OutcomeOf(abi.Nil, failure))
	}
}

// poll looks at another execution for a workflow.
func (t *task) poll(ctx context.Context, b *abi.Poll) {
	var reply abi.PollReply
	failure, decided := t.performer.retryUntilDecided(ctx, "poll an execution", func() error {
		ref, err := request.RefOf(t.row.Namespace, b.Execution)
		if err != nil {
			return err
		}
		other, err := t.performer.Rows.Load(ctx, ref)
		if err != nil {
			return err
		}
		reply = abi.PollReply{State: string(other.State)}
		if other.State.Final() {
			if other, err = t.readResultOf(ctx, other); err != nil {
				return err
			}
			reply.Outcome = &abi.Outcome{Value: other.Value, Error: other.Error}
		}
		return nil
	})
	if decided {
		outcome := op.OutcomeOf(abi.MustMarshal(&reply), failure)
		t.came(outcome)
		t.done(outcome)
	}
}
