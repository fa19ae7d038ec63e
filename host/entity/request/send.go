package request

import (
	"context"
	"errors"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/entity/call"
	"github.com/cruster/cruster/journal"
)

// Send has an operation performed without waiting for it. It returns once the message is durable. A
// send with an origin may be repeated: it is performed once.
func (s *Sender) Send(ctx context.Context, req call.Request) error {
	c, err := s.Checks.Call(ctx, req)
	if err != nil {
		return err
	}
	c.Origin = req.Origin // also of a read: it is a message like any other
	if err := s.mayBeSent(ctx, c); err != nil {
		return err
	}
	res, err := s.put(ctx, c)
	if err != nil {
		return err
	}
	if res.Existed {
		if res.Position, err = s.positionBefore(ctx, c); err != nil {
			return err
		}
	}
	s.Actors.Mail(c.Ref.ID(), res.Position)
	return nil
}

// positionBefore is the position of a message that was sent before, so that its sender's next calls come behind
// it; 0 if it was taken or is parked.
func (s *Sender) positionBefore(ctx context.Context, c *call.Call) (uint64, error) {
	switch m, err := s.Rows.message(ctx, c); {
	case err != nil:
		return 0, err
	case m == nil:
		return 0, s.wasDropped(ctx, c)
	case m.Parked != nil:
		return 0, nil
	default:
		return m.Position, nil
	}
}

// mayBeSent refuses a message to an entity that the section of its sender has locked: it would
// wait for the end of the section.
func (s *Sender) mayBeSent(ctx context.Context, c *call.Call) error {
	if c.Section == (journal.StepID{}) {
		return nil
	}
	row, err := s.Rows.Store.Lock(ctx, c.Ref.ID())
	switch {
	case errors.Is(err, journal.ErrNotFound):
		return nil
	case err != nil:
		return journal.Coded("send "+c.Operation+" to "+c.Ref.String(), err)
	case row.Holder != journal.Caller{ID: c.From.ID, Run: c.From.Run, Step: c.Section}:
		return nil
	}
	if known, err := s.isKnown(ctx, c); known || err != nil {
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
func (s *Sender) isKnown(ctx context.Context, c *call.Call) (bool, error) {
	if c.Origin == (journal.Origin{}) {
		return false, nil
	}
	if m, err := s.Rows.message(ctx, c); m != nil || err != nil {
		return m != nil, err
	}
	receipt, err := s.Rows.receipt(ctx, c, "send "+c.Operation+" to "+c.Ref.String())
	return receipt != nil, err
}

// wasDropped is the error of a message that is sent again after an operator has dropped it.
func (s *Sender) wasDropped(ctx context.Context, c *call.Call) error {
	receipt, err := s.Rows.receipt(ctx, c, "send "+c.Operation+" to "+c.Ref.String())
	if err != nil {
		return err
	}
	if receipt != nil && receipt.Error != nil && receipt.Error.Code == abi.CodeDropped {
		return receipt.Error
	}
	return nil
}
