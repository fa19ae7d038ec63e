package execution

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"slices"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// # Updates
//
// An update is a request to a workflow that changes it and is answered. It is a message in
// the inbox from the moment it is accepted until it is answered:
//
//	accepted → delivered, and held → answered: taken, with a receipt
//
// Invariants:
//
//  1. An update that was accepted is in the inbox, or its answer is in a receipt. Its caller
//     may repeat the request, with the same origin, whatever became of the caller or of the
//     host: it is delivered once, and has one answer.
//  2. Callers learn of an answer that is durable, and of no other.
//  3. An execution that is over answers nothing any more. What is in its inbox then has no
//     answer, and callers are told that.
//
// What callers wait for is in memory only, beside the runs: a caller waits also while its
// execution is paused, sleeps, or is not in memory.

// Update is a request to a workflow.
type Update struct {
	Name string
	// Input is one msgpack value, of the type that the workflow declares.
	Input []byte
	// Origin tells the update from others: one that is repeated has the same answer. Zero
	// says that it is not repeated.
	Origin journal.Origin
	// Validated says that the workflow is asked first whether it would refuse it.
	Validated bool
}

// updateID is how a guest knows an update.
func updateID(origin journal.Origin) string { return hex.EncodeToString(origin[:]) }

// deliveredAs is what a message brings to the op that waits for it.
func deliveredAs(m journal.Message) []byte {
	if m.Kind == journal.UpdateMessage {
		return abi.MustMarshal(&abi.UpdateRequest{ID: updateID(m.Origin), Input: m.Value, Name: m.Name})
	}
	return m.Value
}

// Update sends an update to an execution and returns the answer, once that is durable. If
// ctx ends first the error says whether it was accepted.
func (x *Executions) Update(ctx context.Context, ref Ref, u Update) (abi.Outcome, error) {
	m := journal.Message{
		Envelope: journal.Envelope{Kind: journal.UpdateMessage, Name: u.Name, At: x.now(), Bytes: len(u.Input), Origin: u.Origin, Repeatable: true},
		Value:    u.Input,
	}
	if u.Origin == (journal.Origin{}) {
		m.Origin = journal.NewOrigin()
	}
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
		return abi.Outcome{}, acceptedLate(ref, u)
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

// known finds out what became of an update that may have been sent before: its outcome, if
// it has one, and otherwise whether it was accepted.
func (x *Executions) known(ctx context.Context, ref Ref, origin journal.Origin) (outcome *abi.Outcome, accepted bool, err error) {
	if origin == (journal.Origin{}) {
		return nil, false, nil
	}
	// In this order: it leaves the inbox with its receipt.
	inbox, err := x.Store.Inbox(ctx, ref.ID, 0)
	if err != nil {
		return nil, false, journal.Coded("look for an update of "+ref.Name, err)
	}
	receipt, err := x.Store.Receipt(ctx, ref.ID, origin)
	switch {
	case err == nil:
		return &abi.Outcome{Value: receipt.Value, Error: receipt.Error}, true, nil
	case !errors.Is(err, journal.ErrNotFound):
		return nil, false, journal.Coded("look for an update of "+ref.Name, err)
	}
	if !slices.ContainsFunc(inbox, func(e journal.Envelope) bool { return e.Origin == origin }) {
		return nil, false, nil
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
func (x *Executions) accept(ctx context.Context, ref Ref, u Update, m journal.Message) error {
	if u.Validated {
		if err := x.validate(ctx, ref, u); err != nil {
			return err
		}
	}
	err := x.tell(ctx, ref, messageNews{m})
	if abi.CodeOf(err) != abi.CodeDeadline {
		return err
	}
	return abi.Errorf(abi.CodeDeadline, "the caller's deadline passed before %s was known to have accepted the update %q", ref.Name, u.Name).
		WithHint("Send it again with the same request id: it takes effect once.")
}

// validate asks a workflow whether it would refuse an update. One that is paused cannot be
// asked: it is asked when the update is delivered.
func (x *Executions) validate(ctx context.Context, ref Ref, u Update) error {
	outcome, err := x.Query(ctx, ref, abi.Query{Input: u.Input, Name: u.Name, Update: true})
	switch {
	case abi.CodeOf(err) == abi.CodePaused:
		return nil
	case err != nil:
		return err
	case outcome.Error != nil:
		outcome.Error.Code = cmp.Or(outcome.Error.Code, abi.CodeUpdateRefused)
		return outcome.Error
	}
	return nil
}

// acceptedLate says that the answer to an update is still to come.
func acceptedLate(ref Ref, u Update) error {
	err := abi.Errorf(abi.CodeDeadline, "the caller's deadline passed before %s answered the update %q: it was accepted, and takes effect", ref.Name, u.Name)
	if u.Origin == (journal.Origin{}) {
		return err.WithHint("Its answer cannot be asked for any more; an update with a request id can be repeated.")
	}
	return err.WithHint("Send it again with the same request id: that returns its answer, and nothing takes effect twice.")
}

// unanswered says that an update has no answer and will have none.
func unanswered(row *journal.Execution) error {
	return abi.Errorf(abi.CodeUpdateUnanswered, "%s is %s, and has not answered the update", row.Name(), row.State)
}

// answered is an update with its answer.
type answered struct {
	message journal.Envelope
	outcome abi.Outcome
}

// answerUpdate notes the answer to an update that was delivered, now or in an earlier turn,
// and has none.
func (r *run) answerUpdate(did *own, b batch, body *abi.Answer) {
	if slices.ContainsFunc(did.answers, func(a answered) bool { return updateID(a.message.Origin) == body.ID }) {
		return
	}
	var e journal.Envelope
	there := false
	r.locked(func(l *ledger) { e, there = l.unanswered[body.ID] })
	for _, m := range b.messages {
		if m != nil && m.Kind == journal.UpdateMessage && updateID(m.Origin) == body.ID {
			e, there = m.Envelope, true
		}
	}
	if there {
		did.answers = append(did.answers, answered{e, answerOf(body)})
	}
}

// answerOf is what callers are told.
func answerOf(body *abi.Answer) abi.Outcome {
	if body.Error == nil {
		value, _ := abi.Canonical(body.Value) // it was checked
		return abi.Outcome{Value: value}
	}
	failure := *body.Error
	failure.Clamp()
	failure.Code = cmp.Or(failure.Code, abi.CodeWorkflowFailed)
	return abi.Outcome{Error: &failure}
}

// tookUpdates notes which updates have no answer after a turn that is durable.
func (l *ledger) tookUpdates(b batch, did own) {
	for _, m := range b.messages {
		if m != nil && m.Kind == journal.UpdateMessage {
			l.unanswered[updateID(m.Origin)] = m.Envelope
		}
	}
	for _, a := range did.answers {
		delete(l.unanswered, updateID(a.message.Origin))
	}
}
