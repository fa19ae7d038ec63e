package request

import (
	"context"
	"errors"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/entity/call"
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
//  1. A request that waits has a waiter in memory, or is in the inbox with the address of its answer
//     (call.Parcel.ReplyTo). A workflow leaves once the message is durable; one whose request is at work waits on.
//  2. The commit that takes a message with an address sends the answer there, unless a waiter is told from memory.
//     That is decided when the request begins to be at work, and from then on no waiter leaves.
//  3. Message and request are one operation, whichever comes first: they have one origin. The message of a lock
//     leaves no receipt, as it may be performed twice: it has taken effect if its step is in its section.
//  4. The answer to a lock says no more than that the workflow is to ask again: it has the lock by then. So it locks
//     the next one in its own time, and the lock is decided as ever. Each answer is a message of its own, and one too
//     many does no harm.
//  5. A call in a critical section is never left behind: a message waits for the end of the section that
//     holds the entity, and the section for its answer.
//
// The naive way, to send each request through the inbox, costs each call another commit.

// leaveBehind puts the request of a workflow that leaves into the inbox of its entity. It is not at work, and not in
// memory.
func (x *Caller) leaveBehind(ctx context.Context, c *call.Call) (abi.Outcome, error) {
	res, err := x.Sender.put(ctx, c)
	switch {
	case err != nil:
		return abi.Outcome{}, err
	case res.Existed:
		return x.leftBefore(ctx, c)
	}
	x.Actors.Mail(c.Ref.ID(), res.Position)
	return abi.Outcome{}, call.ErrLeft
}

// leftBefore is for a request whose message was in the inbox already, or has been performed. A message without an
// address is of a version before this one: its sender waits in memory.
func (x *Caller) leftBefore(ctx context.Context, c *call.Call) (abi.Outcome, error) {
	if c.Kind == call.Lock {
		return abi.Outcome{}, call.ErrLeft
	}
	c.Joins = true
	if outcome, found, err := x.outcomeBefore(ctx, c); found || err != nil {
		return outcome, err
	}
	found, err := x.Rows.message(ctx, c)
	if err != nil {
		return abi.Outcome{}, err
	}
	answered := abi.Errorf(abi.CodeOverloaded, "%q of %s is being answered", c.Operation, c.Ref)
	if found == nil { // it was taken meanwhile, and has left a receipt
		return abi.Outcome{}, answered
	}
	position := found.Position
	m, err := x.Rows.Store.Message(ctx, journal.Receiver{ID: c.Ref.ID()}, position)
	switch {
	case errors.Is(err, journal.ErrNotFound):
		return abi.Outcome{}, answered
	case err != nil:
		return abi.Outcome{}, journal.Coded("call "+c.Ref.String(), err)
	}
	if p, damaged := abi.DecodeAs[call.Parcel](m.Value); damaged == nil && p.ReplyTo != nil {
		return abi.Outcome{}, call.ErrLeft
	}
	c.Patience, c.Position = call.Patience{}, position
	if err := c.Admit(x.Queued); err != nil {
		return abi.Outcome{}, err
	}
	return x.AwaitJoined(ctx, c)
}
