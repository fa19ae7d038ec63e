package request

import (
	"context"
	"errors"

	"github.com/cruster/cruster/host/decide"
	"github.com/cruster/cruster/host/entity/call"
	"github.com/cruster/cruster/host/entity/commit"
	"github.com/cruster/cruster/host/faultpoint"
	"github.com/cruster/cruster/journal"
)

// Refuser says why an inbox takes no message: see parked.Operator.
type Refuser interface {
	InboxFull(ctx context.Context, c *call.Call) error
}

// Sender puts messages into the inboxes of entities.
type Sender struct {
	Actors  Actors
	Checks  Checks
	Commits *commit.Writer
	Parked  Refuser
	Rows    Rows
}

// put puts a call into the inbox of its entity. Existed says that it was there already, or has been performed.
func (s *Sender) put(ctx context.Context, c *call.Call) (journal.Result, error) {
	if ctx.Err() != nil {
		return journal.Result{}, notAccepted(c)
	}
	s.Commits.Fault.Pass(faultpoint.EntityReceiveBefore)
	res, err := s.commit(ctx, c)
	switch {
	case errors.Is(err, journal.ErrInboxFull):
		return res, s.Parked.InboxFull(ctx, c)
	case err != nil:
		if errors.Is(err, journal.ErrUndecided) {
			s.Actors.Mail(c.Ref.ID(), 0) // it may be there
		}
		return res, journal.Coded("send "+c.Operation+" to "+c.Ref.String(), err)
	}
	s.Commits.Fault.Pass(faultpoint.EntityReceiveAfter)
	return res, nil
}

// commit makes a message durable. If the answer to its commit was lost it is sent again: that has no effect if it is
// there, or has been taken and has left a receipt.
func (s *Sender) commit(ctx context.Context, c *call.Call) (journal.Result, error) {
	m := s.messageOf(c)
	w := journal.Write{ID: c.Ref.ID(), Receive: &m}
	if !m.Repeatable {
		return s.Commits.Committer.Commit(w)
	}
	return s.Commits.Decider().Do(ctx, w, decide.Existing)
}

// messageOf is the message of a call.
func (s *Sender) messageOf(c *call.Call) journal.Message {
	e := journal.Envelope{
		Kind:       journal.CallMessage,
		Name:       c.Operation,
		At:         s.Commits.Now(),
		Origin:     c.Origin,
		Repeatable: c.LeavesReceipt(),
	}
	switch {
	case c.Kind == call.Lock: // the section of its step tells whether it is to be performed
		e.Kind, e.Origin = journal.LockMessage, journal.OriginOf(c.From.Run, c.From.Step)
	case !e.Repeatable:
		e.Origin = journal.NewOrigin()
	}
	return call.Posted(e, c.From, call.Parcel{
		Awaited:   c.Awaited,
		Entity:    c.Ref.String(),
		Input:     c.Input,
		Namespace: c.Ref.Namespace,
		ReplyTo:   c.Patience.Address(),
	})
}
