package task

import (
	"cmp"
	"context"
	"errors"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/execution/request"
	"github.com/cruster/cruster/host/message"
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
		t.done(outcomeOf(abi.MustMarshal(settled), failure))
	}
}

// signal sends a signal for a workflow. It is named by this step alone, so that a resend after a
// crash is recognized. A full inbox is waited for, unless it is the workflow's own: no one else
// makes room there.
func (t *task) signal(ctx context.Context, b *abi.Signal) {
	step := journal.Caller{ID: t.row.ID, Run: t.row.Run, Step: t.step}
	var full *abi.Error
	failure, decided := t.performer.retryUntilDecided(ctx, "send a signal", func() error {
		ref, err := request.RefOf(t.row.Namespace, b.Execution)
		if err != nil {
			return err
		}
		err = t.performer.Messages.Signal(ctx, ref, message.Signal{
			Name: b.Name, Value: b.Value, Origin: journal.OriginOf(step.Run, step.Step), From: step,
		})
		if ref.ID == t.row.ID && abi.CodeOf(err) == abi.CodeInboxFull {
			full, err = abi.AsError(err), nil
		}
		return err
	})
	if decided {
		t.done(outcomeOf(abi.Nil, cmp.Or(failure, full)))
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
		outcome := outcomeOf(abi.MustMarshal(&reply), failure)
		t.came(outcome)
		t.done(outcome)
	}
}
