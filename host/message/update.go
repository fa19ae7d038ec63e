package message

import (
	"cmp"
	"encoding/hex"
	"slices"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// Update is a request to a workflow that changes it and is answered.
//
// # The life of an update
//
// It is a message in the inbox from the moment it is accepted until it is answered:
//
//	accepted → delivered, and held → answered: taken, with a receipt
//
// Invariants:
//
//  1. An update that was accepted is in the inbox, or its answer is in a receipt. Its caller
//     may repeat the request, with the same origin, whatever became of the caller or of the
//     host: it is delivered once, and has one answer.
//  2. Callers learn of an answer that is durable, and of no other.
//  3. A finished execution answers nothing any more. Updates left in its inbox have no answer, and
//     callers are told that.
type Update struct {
	Name string
	// Input is one msgpack value, of the type that the workflow declares.
	Input []byte
	// Origin tells the update from others: a repeated update has the same answer. Zero says that it
	// is not repeated.
	Origin journal.Origin
	// Validated says that the workflow is asked first whether it would refuse it.
	Validated bool
}

// Message is the update on its way to an execution, sent at a time, with an origin made for it
// unless it has one.
func (u Update) Message(at int64, origin func() journal.Origin) journal.Message {
	m := journal.Message{
		Envelope: journal.Envelope{
			Kind: journal.UpdateMessage, Name: u.Name, At: at, Bytes: len(u.Input), Origin: u.Origin, Repeatable: true,
		},
		Value: u.Input,
	}
	if !u.repeated() {
		m.Origin = origin()
	}
	return m
}

func (u Update) repeated() bool { return u.Origin != journal.Origin{} }

// Question asks the workflow whether it would refuse the update.
func (u Update) Question() abi.Query { return abi.Query{Input: u.Input, Name: u.Name, Update: true} }

// Refusal converts the reply to [Update.Question] to the caller's error; nil if the update is to be
// accepted. A workflow that is paused cannot be asked: it is asked when the update is delivered.
func Refusal(reply abi.Outcome, err error) error {
	switch {
	case abi.CodeOf(err) == abi.CodePaused:
		return nil
	case err != nil:
		return err
	case reply.Error != nil:
		reply.Error.Code = cmp.Or(reply.Error.Code, abi.CodeUpdateRefused)
		return reply.Error
	}
	return nil
}

// PerhapsAccepted is for a caller whose deadline passed before the update was known to be accepted by the execution of
// that name.
func (u Update) PerhapsAccepted(name string) error {
	return abi.Errorf(
		abi.CodeDeadline, "the caller's deadline passed before %s was known to have accepted the update %q", name,
		u.Name,
	).
		WithHint("Send it again with the same request id: it takes effect once.")
}

// NotAnsweredYet is for a caller whose deadline passed before the answer.
func (u Update) NotAnsweredYet(name string) error {
	err := abi.Errorf(
		abi.CodeDeadline,
		"the caller's deadline passed before %s answered the update %q: it was accepted, and takes effect", name,
		u.Name,
	)
	if !u.repeated() {
		return err.WithHint(
			"Its answer cannot be asked for any more; an update with a request id can be repeated. %s", WaitsFor(name),
		)
	}
	return err.WithHint(
		"Send it again with the same request id: that returns its answer, and nothing takes effect twice. %s",
		WaitsFor(name),
	)
}

// Unanswered says that an update of a finished execution has no answer and will have none.
func Unanswered(row *journal.Execution) error {
	return abi.Errorf(abi.CodeUpdateUnanswered, "%s is %s, and has not answered the update", row.Name(), row.State)
}

// UpdateID is how a guest knows an update.
func UpdateID(origin journal.Origin) string { return hex.EncodeToString(origin[:]) }

// Updates are some that were delivered and have no answer, by how the guest knows them.
type Updates map[string]journal.Envelope

// Answer is an update with the reply to its callers.
type Answer struct {
	Update  journal.Envelope
	Outcome abi.Outcome
}

// Answers are the answers of turns to updates, in order.
type Answers []Answer

// Give adds an answer, unless the update has one: the first counts.
func (a *Answers) Give(update journal.Envelope, body *abi.Answer) {
	if !slices.ContainsFunc(*a, func(given Answer) bool { return given.Update.Origin == update.Origin }) {
		*a = append(*a, Answer{update, answerOf(body)})
	}
}

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

// Write adds the answers to the write of the turn that gives them.
func (a Answers) Write(w *journal.Write, now int64) {
	for _, given := range a {
		take(w, given.Update)
		w.Receipts = append(w.Receipts, journal.Receipt{
			Origin: given.Update.Origin, At: now, Value: given.Outcome.Value, Error: given.Outcome.Error,
		})
	}
}
