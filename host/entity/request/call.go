package request

import (
	"context"
	"errors"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/entity/call"
	"github.com/cruster/cruster/host/entity/lock"
)

// Call performs an operation and returns its outcome: that is durable, and the same each time the request is repeated
// with the same origin. An error says that there is no outcome as far as the host knows. If ctx ends first the error
// says whether the call was accepted: then it has run, or will.
func (x *Caller) Call(ctx context.Context, req call.Request) (abi.Outcome, error) {
	c, err := x.Checks.Call(ctx, req)
	if err != nil {
		return abi.Outcome{}, err
	}
	if c.Kind == call.Stateless {
		if err := (&lock.Holding{}).Allows(c); err != nil {
			return abi.Outcome{}, err
		}
	}
	if c.Persisted {
		return x.callPersisted(ctx, c)
	}
	outcome, err := x.Ask(ctx, c)
	if errors.Is(err, call.ErrLeft) {
		left := c.Again()
		left.Origin = req.Origin // also of a read: it is a message like any other
		return x.leaveBehind(ctx, left)
	}
	return outcome, err
}
