package entity

import (
	"context"
	"errors"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/entity/call"
	"github.com/cruster/cruster/host/entity/lock"
	"github.com/cruster/cruster/host/entity/target"
	"github.com/cruster/cruster/journal"
)

// CallRequest asks for an operation of an entity.
type CallRequest struct {
	Entity    target.Ref
	Operation string
	// Input is one msgpack value; nil if there is none.
	Input []byte
	// Origin tells the request from all others to the entity: one of the same origin is the same request. Zero says
	// that it is never repeated.
	Origin journal.Origin
	// Again says that the request may have been made before.
	Again bool
	// From is the step of a workflow that makes the request, if one does.
	From journal.Caller
	// Section is the step that began the critical section in which the workflow makes it; zero if it is in none.
	Section journal.StepID
	Patience
}

// Patience is how long a workflow waits in memory.
type Patience = call.Patience

// Call performs an operation and returns its outcome: that is durable, and the same each time the request is repeated
// with the same origin. An error says that there is no outcome as far as the host knows. If ctx ends first the error
// says whether the call was accepted: then it has run, or will.
func (x *Entities) Call(ctx context.Context, req CallRequest) (abi.Outcome, error) {
	c, err := x.newCall(ctx, req)
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
	outcome, err := x.ask(ctx, c)
	if errors.Is(err, ErrLeft) {
		left := c.Again()
		left.Origin = req.Origin // also of a read: it is a message like any other
		return x.leaveBehind(ctx, left)
	}
	return outcome, err
}

// newCall checks a request. Nothing is stored.
func (x *Entities) newCall(ctx context.Context, req CallRequest) (*call.Call, error) {
	if err := x.Host.Accepting(); err != nil {
		return nil, err
	}
	t, err := x.targets.Find(ctx, req.Entity)
	if err != nil {
		return nil, err
	}
	o, input, err := t.Check(req.Operation, req.Input)
	if err != nil {
		return nil, err
	}
	c := call.To(t, o)
	c.Input, c.Origin, c.From, c.Section, c.Suspect = input, req.Origin, req.From, req.Section, req.Again
	if req.Section == (journal.StepID{}) {
		c.Patience = req.Patience
	}
	if c.Kind == call.Read {
		c.Origin = journal.Origin{} // it may as well be performed twice
	}
	return c, nil
}

// callCost is about how many bytes of memory a call takes besides its input.
const callCost = 1 << 10

// ask hands a call to its entity and waits for the answer.
func (x *Entities) ask(ctx context.Context, c *call.Call) (abi.Outcome, error) {
	if ctx.Err() != nil {
		return abi.Outcome{}, notAccepted(c)
	}
	if err := x.admit(c); err != nil && c.Section == (journal.StepID{}) {
		// A call in a critical section needs no room: the calls that have taken it may wait for the
		// end of the section.
		return abi.Outcome{}, err
	}
	return x.await(ctx, c)
}

// admit takes memory for a call.
func (x *Entities) admit(c *call.Call) error {
	c.Memory = x.Queued.Empty()
	if !c.Memory.Grow(callCost + int64(len(c.Input))) {
		return abi.Errorf(
			abi.CodeOverloaded, "the host has no memory left for a call of %s; it was not accepted", c.Ref,
		)
	}
	return nil
}

// await waits for the answer to a call that has memory.
func (x *Entities) await(ctx context.Context, c *call.Call) (abi.Outcome, error) {
	w := &call.Waiter{Answer: make(chan call.Answer, 1)}
	c.Waiters = []*call.Waiter{w}
	id := c.Ref.ID()
	x.actors.Post(id, arrival{c})
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
		return x.withdraw(id, c, w)
	case <-drains:
		return x.withdrawUnless(ctx, id, c, w, isAccepted, x.Host.EndReason())
	case <-c.Patience.Left:
		return x.withdrawUnless(ctx, id, c, w, isAtWork, ErrLeft)
	}
}

// withdrawUnless ends the waiting of a workflow with an error, unless its call has come too far. On a host that stops,
// a call that is accepted is waited for. Any other is made again on the next host: it may wait for the end of a section
// that goes on there.
func (x *Entities) withdrawUnless(
	ctx context.Context, id journal.ID, c *call.Call, w *call.Waiter, tooFar progress, otherwise error,
) (abi.Outcome, error) {
	stays := make(chan bool, 1)
	x.actors.Post(id, withdrawal{call: c, waiter: w, reply: stays, unless: tooFar})
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
			return x.withdraw(id, c, w)
		}
	}
}

// withdraw ends the waiting of a caller whose deadline has passed.
func (x *Entities) withdraw(id journal.ID, c *call.Call, w *call.Waiter) (abi.Outcome, error) {
	accepted := make(chan bool, 1)
	x.actors.Post(id, withdrawal{call: c, waiter: w, reply: accepted})
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
