package request

import (
	"context"
	"errors"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/entity/call"
	"github.com/cruster/cruster/host/entity/parked"
)

// AwaitJoined waits for the outcome of a call whose message is in the inbox, or was.
func (x *Caller) AwaitJoined(ctx context.Context, c *call.Call) (abi.Outcome, error) {
	if outcome, found, err := x.outcomeBefore(ctx, c); found || err != nil {
		c.Reply(call.Answer{})
		return outcome, err
	}
	outcome, err := x.await(ctx, c)
	if !errors.Is(err, call.ErrTaken) {
		return outcome, err
	}
	if outcome, found, err := x.outcomeBefore(ctx, c); found || err != nil {
		return outcome, err
	}
	if m, err := x.Rows.message(ctx, c); err != nil {
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
func (x *Caller) outcomeBefore(ctx context.Context, c *call.Call) (o abi.Outcome, found bool, err error) {
	if !c.Joins {
		return o, false, nil
	}
	receipt, err := x.Rows.receipt(ctx, c, "call "+c.Ref.String())
	if receipt == nil || err != nil {
		return o, false, err
	}
	return abi.Outcome{Value: receipt.Value, Error: receipt.Error}, true, nil
}
