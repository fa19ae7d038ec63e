package call

import (
	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/budget"
	"github.com/cruster/cruster/host/entity/target"
	"github.com/cruster/cruster/journal"
)

// kind is how a call is performed.
type kind int

// The kinds.
const (
	change    kind = iota // changes a state: in the queue, one after the other
	Read                  // reads a state: beside others
	Destroy               // deletes a state: in the queue
	Stateless             // of an entity without a state: beside others
	Lock                  // begins to wait for a workflow: in the queue
	Unlock                // ends that, for any workflow: in front of the queue
)

func (k kind) String() string {
	return [...]string{"change", "read", "destroy", "call", "lock", "unlock"}[k]
}

// Serial tells whether calls of the kind run one after the other.
func (k kind) Serial() bool { return k != Read && k != Stateless }

// Alone tells whether a call of the kind shares no batch with others.
func (k kind) Alone() bool { return k == Destroy || k == Lock || k == Unlock }

// Call is a pending operation. It belongs to the actor of its entity, except for the fields set at
// its creation and the fields open to the task performing it.
type Call struct {
	Ref       target.Ref
	Kind      kind
	Operation string
	Input     []byte
	Origin    journal.Origin // zero if it is never repeated
	Message   journal.Origin // of the message that it was read from
	From      journal.Caller
	Section   journal.StepID // that it was made in; or zero
	Persisted bool           // it is of an entity without a state, and is to be in the inbox
	Position  uint64         // in the inbox; 0 if it came from its caller
	Awaited   bool           // it is to be in the inbox, and its caller waits
	Sent      bool           // no caller is told its outcome: it is parked if it cannot be performed
	Patience  Patience       // of the workflow that asks, if it may leave memory
	ReplyTo   *journal.RunID // the chain of runs that the answer is sent to, if its message names one
	replies   bool           // it is answered with a message, as no one waits in memory; set before it is at work
	Damaged   *abi.Error     // the message that it was does not decode
	Memory    *budget.Permit // or nil

	Mailbox, Concurrency int   // of its type
	IdleTime             int64 // of its type; nanoseconds

	Waiters []*Waiter
	Since   int64  // when it came
	After   uint64 // the position of the last message that was acknowledged before it came
	Joined  *Call  // the one of the same origin that it became a part of
	AtWork  bool
	Apart   bool  // alone in its batch: its previous batch took too long
	Refused error // by the section that holds the entity; set before it is at work
	Over    bool  // a lock whose section has ended
	Joins   bool  // its message is in the inbox, or was
	// Attempts counts how often it was run; the task's while it is at work.
	Attempts int
	// Misfits counts the attempts that failed for a permanent reason; it belongs to the task while
	// that runs.
	Misfits int
	Suspect bool // there may be a receipt of its origin
	Looked  bool // it was looked for; the task's
}

// Alone tells whether the call shares no batch with others.
func (c *Call) Alone() bool { return c.Apart || c.Kind.Alone() }

// LeavesReceipt tells whether its sender may ask for the outcome later.
func (c *Call) LeavesReceipt() bool { return c.Origin != (journal.Origin{}) }

// Whole is the call that this one became a part of, or itself.
func (c *Call) Whole() *Call {
	for c.Joined != nil {
		c = c.Joined
	}
	return c
}

// Waiter is a caller.
type Waiter struct {
	Answer chan Answer // capacity 1: answering never blocks
}

// Answer is the result of a call: an outcome, which is durable if the call changed something, or
// the reason why there is none.
type Answer struct {
	Outcome abi.Outcome
	Err     error
	// Parked says that the message of the call is parked, for the reason in err.
	Parked bool
}

// Reply answers all waiters of the call.
func (c *Call) Reply(a Answer) {
	c.Release()
	for _, w := range c.Waiters {
		w.Answer <- a
	}
	c.Waiters = nil
}

// Limits of an entity whose type does not say.
const (
	DefaultMailbox     = 1000
	DefaultConcurrency = 1
)

// To makes a call of an operation of a target.
func To(t target.Target, o *abi.OperationInfo) *Call {
	c := &Call{Ref: t.Ref, Operation: o.Name, Persisted: o.Persisted, IdleTime: t.Type.IdleTime}
	if c.Mailbox = int(t.Type.Mailbox); c.Mailbox == 0 {
		c.Mailbox = DefaultMailbox
	}
	if c.Concurrency = int(t.Type.Concurrency); c.Concurrency == 0 {
		c.Concurrency = DefaultConcurrency
	}
	switch {
	case !t.Type.Stateful():
		c.Kind = Stateless
	case o.ReadOnly:
		c.Kind = Read
	}
	return c
}
