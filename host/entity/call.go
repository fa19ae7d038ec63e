package entity

import (
	"context"
	"errors"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/budget"
	"github.com/cruster/cruster/journal"
)

// CallRequest asks for an operation of an entity.
type CallRequest struct {
	Entity    Ref
	Operation string
	// Input is one msgpack value; nil if there is none.
	Input []byte
	// Origin tells the request from all others to the entity: one of the same origin is the
	// same request. Zero says that it is never repeated.
	Origin journal.Origin
	// Again says that the request may have been made before.
	Again bool
	// From is the step of a workflow that makes the request, if one does.
	From journal.Caller
	// Section is the step that began the critical section in which the workflow makes it; zero
	// if it is in none.
	Section journal.StepID
	Patience
}

// Patience is how long a workflow waits in memory: see leave.go. The zero value waits for as long as it takes.
type Patience struct {
	// ReplyTo is the chain of runs of the workflow: it names the inbox that the answer is sent to.
	ReplyTo journal.RunID
	// Left is closed when the workflow wants to leave memory.
	Left <-chan struct{}
}

// kind is how a call is performed.
type kind int

const (
	change    kind = iota // changes a state: in the queue, one after the other
	read                  // reads a state: beside others
	destroy               // deletes a state: in the queue
	stateless             // of an entity without a state: beside others
	lock                  // begins to wait for a workflow: in the queue
	unlock                // ends that, for any workflow: in front of the queue
)

func (k kind) String() string {
	return [...]string{"change", "read", "destroy", "call", "lock", "unlock"}[k]
}

// serial tells whether calls of the kind run one after the other.
func (k kind) serial() bool { return k != read && k != stateless }

// alone tells whether a call of the kind shares no batch with others.
func (k kind) alone() bool { return k == destroy || k == lock || k == unlock }

// call is a pending operation. It belongs to the actor of its entity, except for the fields set at
// its creation and the fields open to the task performing it.
type call struct {
	ref       Ref
	kind      kind
	operation string
	input     []byte
	origin    journal.Origin // zero if it is never repeated
	message   journal.Origin // of the message that it was read from
	from      journal.Caller
	section   journal.StepID // that it was made in; or zero
	persisted bool           // it is of an entity without a state, and is to be in the inbox
	position  uint64         // in the inbox; 0 if it came from its caller
	awaited   bool           // it is to be in the inbox, and its caller waits
	sent      bool           // no caller is told its outcome: it is parked if it cannot be performed
	patience  Patience       // of the workflow that asks, if it may leave memory
	replyTo   *journal.RunID // the chain of runs that the answer is sent to, if its message names one
	replies   bool           // it is answered with a message, as no one waits in memory; set before it is at work
	damaged   *abi.Error     // the message that it was does not decode
	memory    *budget.Permit // or nil

	mailbox, concurrency int   // of its type
	idleTime             int64 // of its type; nanoseconds

	waiters []*waiter
	since   int64  // when it came
	after   uint64 // the position of the last message that was acknowledged before it came
	joined  *call  // the one of the same origin that it became a part of
	atWork  bool
	apart   bool  // alone in its batch: its previous batch took too long
	refused error // by the section that holds the entity; set before it is at work
	over    bool  // a lock whose section has ended
	joins   bool  // its message is in the inbox, or was
	// attempts counts how often it was run; the task's while it is at work.
	attempts int
	// misfits counts the attempts that failed for a permanent reason; it belongs to the task while
	// that runs.
	misfits int
	suspect bool // there may be a receipt of its origin
	looked  bool // it was looked for; the task's
}

// alone tells whether the call shares no batch with others.
func (c *call) alone() bool { return c.apart || c.kind.alone() }

// leavesReceipt tells whether its sender may ask for the outcome later.
func (c *call) leavesReceipt() bool { return c.origin != (journal.Origin{}) }

// whole is the call that this one became a part of, or itself.
func (c *call) whole() *call {
	for c.joined != nil {
		c = c.joined
	}
	return c
}

// waiter is a caller.
type waiter struct {
	answer chan answer // capacity 1: answering never blocks
}

// answer is the result of a call: an outcome, which is durable if the call changed something, or
// the reason why there is none.
type answer struct {
	outcome abi.Outcome
	err     error
	// parked says that the message of the call is parked, for the reason in err.
	parked bool
}

// release lets go of the memory of the call.
func (c *call) release() {
	if c.memory != nil {
		c.memory.Release()
		c.memory = nil
	}
}

// reply answers all who wait for the call.
func (c *call) reply(a answer) {
	c.release()
	for _, w := range c.waiters {
		w.answer <- a
	}
	c.waiters = nil
}

// Call performs an operation and returns its outcome: that is durable, and the same each
// time the request is repeated with the same origin. An error says that there is no outcome
// as far as the host knows. If ctx ends first the error says whether the call was accepted:
// then it has run, or will.
func (x *Entities) Call(ctx context.Context, req CallRequest) (abi.Outcome, error) {
	c, err := x.newCall(ctx, req)
	if err != nil {
		return abi.Outcome{}, err
	}
	if c.kind == stateless {
		if err := (&holding{}).allows(c); err != nil {
			return abi.Outcome{}, err
		}
	}
	if c.persisted {
		return x.callPersisted(ctx, c)
	}
	outcome, err := x.ask(ctx, c)
	if errors.Is(err, ErrLeft) {
		left := c.again()
		left.origin = req.Origin // also of a read: it is a message like any other
		return x.leaveBehind(ctx, left)
	}
	return outcome, err
}

// newCall checks a request. Nothing is stored.
func (x *Entities) newCall(ctx context.Context, req CallRequest) (*call, error) {
	if err := x.Host.Accepting(); err != nil {
		return nil, err
	}
	t, err := x.target(ctx, req.Entity)
	if err != nil {
		return nil, err
	}
	o, input, err := t.check(req.Operation, req.Input)
	if err != nil {
		return nil, err
	}
	c := t.call(o)
	c.input, c.origin, c.from, c.section, c.suspect = input, req.Origin, req.From, req.Section, req.Again
	if req.Section == (journal.StepID{}) {
		c.patience = req.Patience
	}
	if c.kind == read {
		c.origin = journal.Origin{} // it may as well be performed twice
	}
	return c, nil
}

// Limits of an entity whose type does not say.
const (
	defaultMailbox     = 1000
	defaultConcurrency = 1
)

// call is one of an operation of the target.
func (t Target) call(o *abi.OperationInfo) *call {
	c := &call{ref: t.Ref, operation: o.Name, persisted: o.Persisted, idleTime: t.Type.IdleTime}
	if c.mailbox = int(t.Type.Mailbox); c.mailbox == 0 {
		c.mailbox = defaultMailbox
	}
	if c.concurrency = int(t.Type.Concurrency); c.concurrency == 0 {
		c.concurrency = defaultConcurrency
	}
	switch {
	case !t.Type.Stateful():
		c.kind = stateless
	case o.ReadOnly:
		c.kind = read
	}
	return c
}

// callCost is about how many bytes of memory a call takes besides its input.
const callCost = 1 << 10

// ask hands a call to its entity and waits for the answer.
func (x *Entities) ask(ctx context.Context, c *call) (abi.Outcome, error) {
	if ctx.Err() != nil {
		return abi.Outcome{}, notAccepted(c)
	}
	if err := x.admit(c); err != nil && c.section == (journal.StepID{}) {
		// A call in a critical section needs no room: the calls that have taken it may wait for the
		// end of the section.
		return abi.Outcome{}, err
	}
	return x.await(ctx, c)
}

// admit takes memory for a call.
func (x *Entities) admit(c *call) error {
	c.memory = x.Queued.Empty()
	if !c.memory.Grow(callCost + int64(len(c.input))) {
		return abi.Errorf(abi.CodeOverloaded, "the host has no memory left for a call of %s; it was not accepted", c.ref)
	}
	return nil
}

// await waits for the answer to a call that has memory.
func (x *Entities) await(ctx context.Context, c *call) (abi.Outcome, error) {
	w := &waiter{answer: make(chan answer, 1)}
	c.waiters = []*waiter{w}
	id := c.ref.ID()
	x.actors.Post(id, arrival{c})
	var drains <-chan struct{}
	if !c.from.IsZero() {
		drains = x.Host.Drains() // the workflow asks again, on the next host
	}
	select {
	case a := <-w.answer:
		return a.outcome, a.err
	case <-x.Host.Context().Done():
		return abi.Outcome{}, x.Host.EndReason()
	case <-ctx.Done():
		return x.withdraw(id, c, w)
	case <-drains:
		return x.withdrawUnless(ctx, id, c, w, isAccepted, x.Host.EndReason())
	case <-c.patience.Left:
		return x.withdrawUnless(ctx, id, c, w, isAtWork, ErrLeft)
	}
}

// withdrawUnless ends the waiting of a workflow with an error, unless its call has come too far. On a host that stops, a
// call that is accepted is waited for. Any other is made again on the next host: it may wait for the end of a section that
// goes on there.
func (x *Entities) withdrawUnless(ctx context.Context, id journal.ID, c *call, w *waiter, tooFar progress, otherwise error) (abi.Outcome, error) {
	stays := make(chan bool, 1)
	x.actors.Post(id, withdrawal{call: c, waiter: w, reply: stays, unless: tooFar})
	for {
		select {
		case stay := <-stays:
			if !stay {
				return abi.Outcome{}, otherwise
			}
		case a := <-w.answer:
			return a.outcome, a.err
		case <-x.Host.Context().Done():
			return abi.Outcome{}, x.Host.EndReason()
		case <-ctx.Done():
			return x.withdraw(id, c, w)
		}
	}
}

// withdraw ends the waiting of a caller whose deadline has passed.
func (x *Entities) withdraw(id journal.ID, c *call, w *waiter) (abi.Outcome, error) {
	accepted := make(chan bool, 1)
	x.actors.Post(id, withdrawal{call: c, waiter: w, reply: accepted})
	select {
	case <-x.Host.Context().Done():
		return abi.Outcome{}, x.Host.EndReason()
	case was := <-accepted:
		select {
		case a := <-w.answer: // it came first
			return a.outcome, a.err
		default:
		}
		if was {
			return abi.Outcome{}, inDoubt(c)
		}
		return abi.Outcome{}, notAccepted(c)
	}
}
