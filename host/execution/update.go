package execution

import (
	"context"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/message"
	"github.com/cruster/cruster/journal"
)

// Update sends an update to an execution and returns the answer, once that is durable. If
// ctx ends first the error says whether it was accepted.
//
// The waits of callers are in memory only, beside the runs: a caller waits also while its execution
// is paused, sleeps, or is not in memory.
func (x *Executions) Update(ctx context.Context, ref Ref, u message.Update) (abi.Outcome, error) {
	m := u.Message(x.now(), journal.NewOrigin)
	w := x.updates.wait(ref.ID, m.Origin)
	defer x.updates.stop(w)
	outcome, known, err := x.known(ctx, ref, u.Origin)
	if err != nil || outcome != nil {
		return valueOr(outcome), err
	}
	if !known {
		if err := x.accept(ctx, ref, u, m); err != nil {
			return abi.Outcome{}, err
		}
	}
	select {
	case reply := <-w.reply:
		return reply.outcome, reply.err
	case <-ctx.Done():
		return abi.Outcome{}, u.NotAnsweredYet(ref.Name)
	case <-x.Host.Context().Done():
		return abi.Outcome{}, x.Host.EndReason()
	}
}

func valueOr(outcome *abi.Outcome) abi.Outcome {
	if outcome == nil {
		return abi.Outcome{}
	}
	return *outcome
}

// known looks up an update that may have been sent before: its outcome, if it has one, and
// otherwise whether it was accepted.
func (x *Executions) known(ctx context.Context, ref Ref, origin journal.Origin) (outcome *abi.Outcome, accepted bool, err error) {
	if origin == (journal.Origin{}) {
		return nil, false, nil
	}
	asked, err := x.LoadRun(ctx, ref)
	if err != nil {
		return nil, false, err
	}
	// In this order: it leaves the inbox with its receipt.
	inbox, err := x.inboxOf(ctx, asked.Receiver(), origin)
	if err != nil {
		return nil, false, journal.Coded("look for an update of "+ref.Name, err)
	}
	receipt, err := x.receipt(ctx, ref.ID, origin)
	if err != nil {
		return nil, false, journal.Coded("look for an update of "+ref.Name, err)
	}
	switch message.StatusOf(origin, inbox, receipt) {
	case message.Done:
		answer := message.OutcomeOf(receipt)
		return &answer, true, nil
	case message.Unknown:
		return nil, false, nil
	case message.Accepted:
	}
	row, err := x.Load(ctx, ref)
	if err != nil {
		return nil, false, err
	}
	if row.State.Final() {
		// It may have been answered since the receipt was looked for; from now on it is not.
		reply, _ := x.replyTo(ctx, row, inbox, nil, origin)
		return &reply.outcome, true, reply.err
	}
	if row.State == journal.Running && row.WakeAt <= x.now() {
		x.EnsureInMemory(ref.ID) // recovery may stand still because the host is full of callers
	}
	return nil, true, nil
}

// accept has an update put into the inbox, if the workflow would not refuse it.
func (x *Executions) accept(ctx context.Context, ref Ref, u message.Update, m journal.Message) error {
	if u.Validated {
		if err := message.Refusal(x.Query(ctx, ref, u.Question())); err != nil {
			return err
		}
	}
	row, err := x.Load(ctx, ref)
	if err == nil {
		err = x.send(ctx, row, x.letterOf(m))
	}
	if abi.CodeOf(err) == abi.CodeDeadline {
		return u.PerhapsAccepted(ref.Name)
	}
	return err
}
