package entity

import (
	"context"
	"errors"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/decide"
	"github.com/cruster/cruster/host/faultpoint"
	"github.com/cruster/cruster/journal"
)

// Send has an operation performed without waiting for it. It returns once the message is durable. A
// send with an origin may be repeated: it is performed once.
func (x *Entities) Send(ctx context.Context, req CallRequest) error {
	c, err := x.newCall(ctx, req)
	if err != nil {
		return err
	}
	c.origin = req.Origin // also of a read: it is a message like any other
	if err := x.mayBeSent(ctx, c); err != nil {
		return err
	}
	res, err := x.receive(ctx, c)
	if err != nil {
		return err
	}
	if res.Existed {
		if res.Position, err = x.positionBefore(ctx, c); err != nil {
			return err
		}
	}
	x.actors.Post(c.ref.ID(), mail{res.Position})
	return nil
}

// positionBefore is the position of a message that was sent before, so that what its sender does next comes
// behind it; 0 if it was taken or is parked.
func (x *Entities) positionBefore(ctx context.Context, c *call) (uint64, error) {
	switch m, err := x.findMessage(ctx, c); {
	case err != nil:
		return 0, err
	case m == nil:
		return 0, x.wasDropped(ctx, c)
	case m.Parked != nil:
		return 0, nil
	default:
		return m.Position, nil
	}
}

// mayBeSent refuses a message to an entity that the section of its sender has locked: it would
// wait for the end of the section.
func (x *Entities) mayBeSent(ctx context.Context, c *call) error {
	if c.section == (journal.StepID{}) {
		return nil
	}
	row, err := x.Store.Lock(ctx, c.ref.ID())
	switch {
	case errors.Is(err, journal.ErrNotFound):
		return nil
	case err != nil:
		return journal.Coded("send "+c.operation+" to "+c.ref.String(), err)
	case row.Holder != journal.Caller{ID: c.from.ID, Run: c.from.Run, Step: c.section}:
		return nil
	}
	if known, err := x.isKnown(ctx, c); known || err != nil {
		return err // it was sent before the section held the entity, and is repeated
	}
	return abi.Errorf(abi.CodeInSection, "%q cannot be sent to %s, which the critical section has locked: it would be performed behind the section", c.operation, c.ref).
		WithHint("Call it, or send it behind the section.")
}

// isKnown tells whether a message was sent before.
func (x *Entities) isKnown(ctx context.Context, c *call) (bool, error) {
	if c.origin == (journal.Origin{}) {
		return false, nil
	}
	if m, err := x.findMessage(ctx, c); m != nil || err != nil {
		return m != nil, err
	}
	_, err := x.Store.Receipt(ctx, c.ref.ID(), c.origin)
	switch {
	case errors.Is(err, journal.ErrNotFound):
		return false, nil
	case err != nil:
		return false, journal.Coded("send "+c.operation+" to "+c.ref.String(), err)
	}
	return true, nil
}

// findMessage finds the message of a call that was sent before, parked or not; nil if it was taken.
func (x *Entities) findMessage(ctx context.Context, c *call) (*journal.FoundMessage, error) {
	m, err := x.Store.FindMessage(ctx, journal.Receiver{ID: c.ref.ID()}, c.origin)
	switch {
	case errors.Is(err, journal.ErrNotFound):
		return nil, nil
	case err != nil:
		return nil, journal.Coded("send "+c.operation+" to "+c.ref.String(), err)
	}
	return m, nil
}

// receive puts a call into the inbox of its entity. Existed says that it was there already,
// or has been performed.
func (x *Entities) receive(ctx context.Context, c *call) (journal.Result, error) {
	if ctx.Err() != nil {
		return journal.Result{}, notAccepted(c)
	}
	x.Fault.Pass(faultpoint.EntityReceiveBefore)
	res, err := x.commitMessage(ctx, c)
	switch {
	case errors.Is(err, journal.ErrInboxFull):
		return res, x.inboxFull(ctx, c)
	case err != nil:
		if errors.Is(err, journal.ErrUndecided) {
			x.actors.Post(c.ref.ID(), mail{}) // it may be there
		}
		return res, journal.Coded("send "+c.operation+" to "+c.ref.String(), err)
	}
	x.Fault.Pass(faultpoint.EntityReceiveAfter)
	return res, nil
}

// commitMessage makes a message durable. If the answer to its commit was lost it is sent
// again: that has no effect if it is there, or has been taken and has left a receipt.
func (x *Entities) commitMessage(ctx context.Context, c *call) (journal.Result, error) {
	e := journal.Envelope{Kind: journal.CallMessage, Name: c.operation, At: x.now(), Origin: c.origin, Repeatable: c.leavesReceipt()}
	switch {
	case c.kind == lock: // the section of its step tells whether it is to be performed
		e.Kind, e.Origin = journal.LockMessage, journal.OriginOf(c.from.Run, c.from.Step)
	case !e.Repeatable:
		e.Origin = journal.NewOrigin()
	}
	m := posted(e, c.from, parcel{Awaited: c.awaited, Entity: c.ref.String(), Input: c.input, Namespace: c.ref.Namespace, ReplyTo: c.patience.address()})
	w := journal.Write{ID: c.ref.ID(), Receive: &m}
	if !e.Repeatable {
		return x.Committer.Commit(w)
	}
	return x.decider().Do(ctx, w, decide.Existing)
}
