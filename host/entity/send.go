package entity

import (
	"context"
	"errors"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/decide"
	"github.com/cruster/cruster/host/entity/call"
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
	c.Origin = req.Origin // also of a read: it is a message like any other
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
	x.actors.Post(c.Ref.ID(), mail{res.Position})
	return nil
}

// positionBefore is the position of a message that was sent before, so that what its sender does next comes
// behind it; 0 if it was taken or is parked.
func (x *Entities) positionBefore(ctx context.Context, c *call.Call) (uint64, error) {
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
func (x *Entities) mayBeSent(ctx context.Context, c *call.Call) error {
	if c.Section == (journal.StepID{}) {
		return nil
	}
	row, err := x.Store.Lock(ctx, c.Ref.ID())
	switch {
	case errors.Is(err, journal.ErrNotFound):
		return nil
	case err != nil:
		return journal.Coded("send "+c.Operation+" to "+c.Ref.String(), err)
	case row.Holder != journal.Caller{ID: c.From.ID, Run: c.From.Run, Step: c.Section}:
		return nil
	}
	if known, err := x.isKnown(ctx, c); known || err != nil {
		return err // it was sent before the section held the entity, and is repeated
	}
	return abi.Errorf(
		abi.CodeInSection,
		"%q cannot be sent to %s, which the critical section has locked: it would be performed behind the section",
		c.Operation, c.Ref,
	).
		WithHint("Call it, or send it behind the section.")
}

// isKnown tells whether a message was sent before.
func (x *Entities) isKnown(ctx context.Context, c *call.Call) (bool, error) {
	if c.Origin == (journal.Origin{}) {
		return false, nil
	}
	if m, err := x.findMessage(ctx, c); m != nil || err != nil {
		return m != nil, err
	}
	_, err := x.Store.Receipt(ctx, c.Ref.ID(), c.Origin)
	switch {
	case errors.Is(err, journal.ErrNotFound):
		return false, nil
	case err != nil:
		return false, journal.Coded("send "+c.Operation+" to "+c.Ref.String(), err)
	}
	return true, nil
}

// findMessage finds the message of a call that was sent before, parked or not; nil if it was taken.
func (x *Entities) findMessage(ctx context.Context, c *call.Call) (*journal.FoundMessage, error) {
	m, err := x.Store.FindMessage(ctx, journal.Receiver{ID: c.Ref.ID()}, c.Origin)
	switch {
	case errors.Is(err, journal.ErrNotFound):
		return nil, nil
	case err != nil:
		return nil, journal.Coded("send "+c.Operation+" to "+c.Ref.String(), err)
	}
	return m, nil
}

// receive puts a call into the inbox of its entity. Existed says that it was there already, or has been performed.
func (x *Entities) receive(ctx context.Context, c *call.Call) (journal.Result, error) {
	if ctx.Err() != nil {
		return journal.Result{}, notAccepted(c)
	}
	x.Fault.Pass(faultpoint.EntityReceiveBefore)
	res, err := x.commitMessage(ctx, c)
	switch {
	case errors.Is(err, journal.ErrInboxFull):
		return res, x.parked.InboxFull(ctx, c)
	case err != nil:
		if errors.Is(err, journal.ErrUndecided) {
			x.actors.Post(c.Ref.ID(), mail{}) // it may be there
		}
		return res, journal.Coded("send "+c.Operation+" to "+c.Ref.String(), err)
	}
	x.Fault.Pass(faultpoint.EntityReceiveAfter)
	return res, nil
}

// commitMessage makes a message durable. If the answer to its commit was lost it is sent again: that has no effect if
// it is there, or has been taken and has left a receipt.
func (x *Entities) commitMessage(ctx context.Context, c *call.Call) (journal.Result, error) {
	e := journal.Envelope{
		Kind: journal.CallMessage, Name: c.Operation, At: x.now(), Origin: c.Origin, Repeatable: c.LeavesReceipt(),
	}
	switch {
	case c.Kind == call.Lock: // the section of its step tells whether it is to be performed
		e.Kind, e.Origin = journal.LockMessage, journal.OriginOf(c.From.Run, c.From.Step)
	case !e.Repeatable:
		e.Origin = journal.NewOrigin()
	}
	m := call.Posted(e, c.From, call.Parcel{
		Awaited:   c.Awaited,
		Entity:    c.Ref.String(),
		Input:     c.Input,
		Namespace: c.Ref.Namespace,
		ReplyTo:   c.Patience.Address(),
	})
	w := journal.Write{ID: c.Ref.ID(), Receive: &m}
	if !e.Repeatable {
		return x.Committer.Commit(w)
	}
	return x.commits.Decider().Do(ctx, w, decide.Existing)
}

// wasDropped is the error of a message that is sent again after an operator has dropped it.
func (x *Entities) wasDropped(ctx context.Context, c *call.Call) error {
	receipt, err := x.Store.Receipt(ctx, c.Ref.ID(), c.Origin)
	switch {
	case errors.Is(err, journal.ErrNotFound):
		return nil
	case err != nil:
		return journal.Coded("send "+c.Operation+" to "+c.Ref.String(), err)
	case receipt.Error != nil && receipt.Error.Code == abi.CodeDropped:
		return receipt.Error
	}
	return nil
}
