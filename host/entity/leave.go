package entity

import (
	"context"
	"errors"
	"slices"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// # Workflows that leave memory while they wait
//
// A workflow that calls an entity, or locks it, waits in memory at first: as a rule the answer is
// there within milliseconds, and costs no write but the entity's. An entity that is held by a
// critical section may not answer for days, and a thousand workflows that wait for it would take
// the places of all others. So a workflow whose place is wanted leaves: its request becomes a
// message in the inbox of the entity, and the answer will be one in its own.
//
// Invariants:
//
//  1. A request that waits has a waiter in memory, or is in the inbox with the address of its answer (parcel.ReplyTo). A
//     workflow leaves once the message is durable; one whose request is at work waits on.
//  2. The commit that takes a message with an address sends the answer there, unless a waiter is told from memory. That is
//     decided when the request begins to be at work, and from then on no waiter leaves.
//  3. Message and request are one operation, whichever comes first: they have one origin. The message of a lock leaves no
//     receipt, as it may be performed twice: what counts is whether its step is in its section.
//  4. The answer to a lock says no more than that the workflow is to ask again: it has the lock by then. So it locks
//     the next one in its own time, and the lock is decided as ever. Each answer is a message of its own, and one too
//     many does no harm.
//  5. A call in a critical section is never left behind: a message waits for the end of the section that
//     holds the entity, and the section for its answer.
//
// The naive way, to send each request through the inbox, costs each call another commit.

// ErrLeft says that the workflow need not wait in memory any more: the answer will be in its inbox.
var ErrLeft = errors.New("entity: the answer will be in the inbox of the workflow")

// address is where a message says that its answer is to be sent; nil if its sender waits in memory for as long as it takes.
func (p *Patience) address() *journal.RunID {
	if p.Left == nil {
		return nil
	}
	return &p.ReplyTo
}

// beginWork says that the call is at work from now on.
func (c *call) beginWork() { c.atWork, c.replies = true, c.replyTo != nil && len(c.waiters) == 0 }

// answerTo is the message that brings the answer of an entity to a workflow that has left; none if it has not.
func (c *call) answerTo(id journal.ID, outcome abi.Outcome, now int64) []journal.Sent {
	if !c.replies {
		return nil
	}
	to := journal.Receiver{ID: c.from.ID, Chain: *c.replyTo}
	origin := journal.OriginOf(c.from.Run, c.from.Step)
	if c.kind == lock {
		origin = journal.NewOrigin() // a step is told of each entity that it has locked, while the answer of the one before may be untaken
	}
	return []journal.Sent{journal.ResultTo(to, origin, journal.Caller{ID: id, Step: c.from.Step}, now, &outcome)}
}

// tellCallers tells workflows of the answers in a write, which is durable.
func (x *Entities) tellCallers(w *journal.Write) {
	if results := slices.DeleteFunc(slices.Clone(w.Send), func(s journal.Sent) bool { return s.Kind != journal.ResultMessage }); len(results) > 0 {
		x.Callers.Answered(results)
	}
}

// again is the same request once more: the actor of its entity may have the call still.
func (c *call) again() *call {
	return &call{
		ref: c.ref, kind: c.kind, operation: c.operation, input: c.input, origin: c.origin, from: c.from, persisted: c.persisted, awaited: true,
		mailbox: c.mailbox, concurrency: c.concurrency, idleTime: c.idleTime, patience: c.patience,
	}
}

// leaveBehind puts the request of a workflow that leaves into the inbox of its entity. It is not at work, and not in memory.
func (x *Entities) leaveBehind(ctx context.Context, c *call) (abi.Outcome, error) {
	res, err := x.receive(ctx, c)
	switch {
	case err != nil:
		return abi.Outcome{}, err
	case res.Existed:
		return x.leftBefore(ctx, c)
	}
	x.actors.Post(c.ref.ID(), mail{res.Position})
	return abi.Outcome{}, ErrLeft
}

// leftBefore is for a request whose message was in the inbox already, or has been performed. A message without an address
// is of a version before this one: its sender waits in memory.
func (x *Entities) leftBefore(ctx context.Context, c *call) (abi.Outcome, error) {
	if c.kind == lock {
		return abi.Outcome{}, ErrLeft
	}
	c.joins = true
	if outcome, found, err := x.outcomeBefore(ctx, c); found || err != nil {
		return outcome, err
	}
	found, err := x.findMessage(ctx, c)
	if err != nil {
		return abi.Outcome{}, err
	}
	answered := abi.Errorf(abi.CodeOverloaded, "%q of %s is being answered", c.operation, c.ref)
	if found == nil { // it was taken meanwhile, and has left a receipt
		return abi.Outcome{}, answered
	}
	position := found.Position
	m, err := x.Store.Message(ctx, journal.Receiver{ID: c.ref.ID()}, position)
	switch {
	case errors.Is(err, journal.ErrNotFound):
		return abi.Outcome{}, answered
	case err != nil:
		return abi.Outcome{}, journal.Coded("call "+c.ref.String(), err)
	}
	if p, damaged := abi.DecodeAs[parcel](m.Value); damaged == nil && p.ReplyTo != nil {
		return abi.Outcome{}, ErrLeft
	}
	c.patience, c.position = Patience{}, position
	if err := x.admit(c); err != nil {
		return abi.Outcome{}, err
	}
	return x.awaitJoined(ctx, c)
}
