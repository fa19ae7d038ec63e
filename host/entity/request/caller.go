package request

import (
	"context"
	"log/slog"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/budget"
	"github.com/cruster/cruster/host/entity/call"
	"github.com/cruster/cruster/host/hoststate"
	"github.com/cruster/cruster/journal"
)

// Caller asks entities, and waits for their answers.
type Caller struct {
	Actors Actors
	Checks Checks
	Host   *hoststate.State
	Logger *slog.Logger
	// Queued is the memory of calls that wait.
	Queued *budget.Budget
	Rows   Rows
	Sender *Sender
}

// Ask hands a call to its entity and waits for the answer.
func (x *Caller) Ask(ctx context.Context, c *call.Call) (abi.Outcome, error) {
	if ctx.Err() != nil {
		return abi.Outcome{}, notAccepted(c)
	}
	if err := c.Admit(x.Queued); err != nil && c.Section == (journal.StepID{}) {
		// A call in a critical section needs no room: the calls that have taken it may wait for the
		// end of the section.
		return abi.Outcome{}, err
	}
	return x.await(ctx, c)
}

// await waits for the answer to a call that has memory.
func (x *Caller) await(ctx context.Context, c *call.Call) (abi.Outcome, error) {
	w := &call.Waiter{Answer: make(chan call.Answer, 1)}
	c.Waiters = []*call.Waiter{w}
	x.Actors.Arrive(c)
	var drains <-chan struct{}
	if !c.From.IsZero() {
		drains = x.Host.Drains() // the workflow asks again, on the next host
	}
	select {
	case a := <-w.Answer:
		return a.Outcome, a.Err
	case <-x.Host.Context().Done():
		return abi.Outcome{}, x.Host.EndReason()
	case <-ctx.Done():
		return x.withdraw(c, w)
	case <-drains:
		return x.withdrawUnless(ctx, c, w, call.IsAccepted, x.Host.EndReason())
	case <-c.Patience.Left:
		return x.withdrawUnless(ctx, c, w, call.IsAtWork, call.ErrLeft)
	}
}

// withdrawUnless ends the waiting of a workflow with an error, unless its call has come too far. On a host that stops,
// a call that is accepted is waited for. Any other is made again on the next host: it may wait for the end of a section
// that goes on there.
func (x *Caller) withdrawUnless(
	ctx context.Context, c *call.Call, w *call.Waiter, tooFar call.Progress, otherwise error,
) (abi.Outcome, error) {
	stays := x.Actors.Withdraw(c, w, tooFar)
	for {
		select {
		case stay := <-stays:
			if !stay {
				return abi.Outcome{}, otherwise
			}
		case a := <-w.Answer:
			return a.Outcome, a.Err
		case <-x.Host.Context().Done():
			return abi.Outcome{}, x.Host.EndReason()
		case <-ctx.Done():
			return x.withdraw(c, w)
		}
	}
}

// withdraw ends the waiting of a caller whose deadline has passed.
func (x *Caller) withdraw(c *call.Call, w *call.Waiter) (abi.Outcome, error) {
	accepted := x.Actors.Withdraw(c, w, 0)
	select {
	case <-x.Host.Context().Done():
		return abi.Outcome{}, x.Host.EndReason()
	case was := <-accepted:
		select {
		case a := <-w.Answer: // it came first
			return a.Outcome, a.Err
		default:
		}
		if was {
			return abi.Outcome{}, inDoubt(c)
		}
		return abi.Outcome{}, notAccepted(c)
	}
}
