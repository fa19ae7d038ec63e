package entity

import (
	"context"
	"errors"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/entity/call"
	"github.com/cruster/cruster/host/entity/parked"
	"github.com/cruster/cruster/journal"
)

// errTaken says that a message that was to be joined has been taken meanwhile: there is a receipt.
var errTaken = errors.New("entity: the message has been taken")

// callPersisted puts a call of an entity without a state into the inbox, and waits for its outcome.
// A repeated call waits for the first one, or finds its receipt.
func (x *Entities) callPersisted(ctx context.Context, c *call.Call) (abi.Outcome, error) {
	if !c.LeavesReceipt() {
		c.Origin = journal.NewOrigin()
	}
	if err := x.admit(c); err != nil {
		return abi.Outcome{}, err
	}
	if err := x.askRoom(ctx, c); err != nil {
		c.Reply(call.Answer{})
		return abi.Outcome{}, err
	}
	c.Awaited = true
	res, err := x.receive(ctx, c)
	if err != nil {
		c.Reply(call.Answer{})
		return abi.Outcome{}, err
	}
	if c.Position, c.Joins = res.Position, res.Existed; !c.Joins {
		c.ReplyTo = c.Patience.Address() // as its message says
	}
	outcome, err := x.awaitJoined(ctx, c)
	if errors.Is(err, ErrLeft) && res.Existed {
		return x.leftBefore(ctx, c.Again())
	}
	return outcome, err
}

// awaitJoined waits for the outcome of a call whose message is in the inbox, or was.
func (x *Entities) awaitJoined(ctx context.Context, c *call.Call) (abi.Outcome, error) {
	if outcome, found, err := x.outcomeBefore(ctx, c); found || err != nil {
		c.Reply(call.Answer{})
		return outcome, err
	}
	outcome, err := x.await(ctx, c)
	if !errors.Is(err, errTaken) {
		return outcome, err
	}
	if outcome, found, err := x.outcomeBefore(ctx, c); found || err != nil {
		return outcome, err
	}
	if m, err := x.findMessage(ctx, c); err != nil {
		return abi.Outcome{}, err
	} else if m != nil && m.Parked != nil {
		return abi.Outcome{}, parked.Error(c, m.Parked)
	}
	return abi.Outcome{}, abi.Errorf(abi.CodeMayHaveRun,
		"%q of %s was performed, and what it came to is not known any more: its receipt is older than the request window",
		c.Operation, c.Ref,
	)
}

// outcomeBefore is the outcome of a call that was made before, if it has one by now.
func (x *Entities) outcomeBefore(ctx context.Context, c *call.Call) (o abi.Outcome, found bool, err error) {
	if !c.Joins {
		return o, false, nil
	}
	receipt, err := x.Store.Receipt(ctx, c.Ref.ID(), c.Origin)
	switch {
	case errors.Is(err, journal.ErrNotFound):
		return o, false, nil
	case err != nil:
		return o, false, journal.Coded("call "+c.Ref.String(), err)
	}
	return abi.Outcome{Value: receipt.Value, Error: receipt.Error}, true, nil
}

// askRoom asks the entity whether its mailbox has room for a durable call.
func (x *Entities) askRoom(ctx context.Context, c *call.Call) error {
	reply := make(chan error, 1)
	x.actors.Post(c.Ref.ID(), roomRequest{c, reply})
	select {
	case err := <-reply:
		return err
	case <-ctx.Done():
		return notAccepted(c)
	case <-x.Host.Context().Done():
		return x.Host.EndReason()
	}
}

// hasRoom tells whether a call that is to be durable may be accepted.
func (e *entity) hasRoom(c *call.Call) error {
	waiting := e.waiting
	for _, m := range e.positions {
		if !m.AtWork {
			waiting++
		}
	}
	if e.byOrigin[c.Origin] == nil && waiting >= c.Mailbox {
		return e.mailboxFull(c)
	}
	return nil
}

// joinLater has a call wait for the message of its origin, which is in the inbox.
func (e *entity) joinLater(c *call.Call) {
	e.joining = append(e.joining, c)
	e.unread, e.barren = true, false
}

// joinFetched joins calls to the messages of their origins. All tells that the whole inbox was read: those whose
// message is not there have a receipt, if they came before the reading began. The message of a later one may have come
// meanwhile.
func (e *entity) joinFetched(all bool) {
	waiting := e.joining
	e.joining = nil
	for i, c := range waiting {
		switch first := e.byOrigin[c.Origin]; {
		case first != nil:
			e.join(first, c)
		case all && i < e.awaited:
			c.Reply(call.Answer{Err: errTaken})
		default:
			e.joining = append(e.joining, c)
		}
	}
}
