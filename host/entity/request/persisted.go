package request

import (
	"context"
	"errors"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/entity/call"
	"github.com/cruster/cruster/journal"
)

// callPersisted puts a call of an entity without a state into the inbox, and waits for its outcome.
// A repeated call waits for the first one, or finds its receipt.
func (x *Caller) callPersisted(ctx context.Context, c *call.Call) (abi.Outcome, error) {
	if !c.LeavesReceipt() {
		c.Origin = journal.NewOrigin()
	}
	if err := c.Admit(x.Queued); err != nil {
		return abi.Outcome{}, err
	}
	if err := x.askRoom(ctx, c); err != nil {
		c.Reply(call.Answer{})
		return abi.Outcome{}, err
	}
	c.Awaited = true
	res, err := x.Sender.put(ctx, c)
	if err != nil {
		c.Reply(call.Answer{})
		return abi.Outcome{}, err
	}
	if c.Position, c.Joins = res.Position, res.Existed; !c.Joins {
		c.ReplyTo = c.Patience.Address() // as its message says
	}
	outcome, err := x.AwaitJoined(ctx, c)
	if errors.Is(err, call.ErrLeft) && res.Existed {
		return x.leftBefore(ctx, c.Again())
	}
	return outcome, err
}

// askRoom asks the entity whether its mailbox has room for a durable call.
func (x *Caller) askRoom(ctx context.Context, c *call.Call) error {
	select {
	case err := <-x.Actors.Room(c):
		return err
	case <-ctx.Done():
		return notAccepted(c)
	case <-x.Host.Context().Done():
		return x.Host.EndReason()
	}
}
