package op

import (
	"cmp"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// OutcomeOf returns the outcome with a value or, if the op failed, with its failure.
func OutcomeOf(value []byte, failure *abi.Error) abi.Outcome {
	if failure != nil {
		return abi.Outcome{Error: failure}
	}
	return abi.Outcome{Value: value}
}

// Op is one durable request of a guest that has been issued and not delivered.
type Op struct {
	journal.Op
	// Body is the decoded request, a pointer to one of abi's op types.
	Body any
	// IssuedAt is the journal time of the turn that issued it.
	IssuedAt int64
	// StepID is [journal.Op.Step].
	StepID journal.StepID

	// Outcome is set once it is known.
	Outcome *abi.Outcome
	// Unread is how many bytes the outcome has, if it is not here but in the store: those of
	// deferreds and messages are read when they are delivered.
	Unread int
	// Message is the message given to the op, if it waited for a signal or an update.
	Message *journal.Envelope
	// Awaiting says that the host has done its part of a call or a lock: the callee sends its result, the entity its
	// answer.
	Awaiting bool
	// early says that an answer that is followed by work of the host came before the host said that it will: see Await.
	early bool
	// ReadyAt is the time of the outcome: a sleep had ended, a deferred was settled, an activity had ended. Outcomes
	// are delivered in this order.
	ReadyAt int64
	// Journaled says that a transaction has made the delivery durable. The op waits for its place in the order and for
	// nothing else.
	Journaled bool

	// Attempts counts the attempts of an activity: the failed ones, or all of them once there is an outcome.
	Attempts uint32
	// NextAt is when the next attempt may begin; 0 means at once.
	NextAt int64
	// Lost counts the attempts of an activity during which a host ended, one after the other.
	Lost uint32
	// Released says that no attempt is under way that could be lost: the last one was given up by a host that could say
	// so.
	Released bool
	// BegunAt is when an attempt may have begun at the earliest, as far as the journal tells; 0 means when the op was
	// issued.
	BegunAt int64
	// LastError is why the last attempt failed, in brief: the journal has all of it.
	LastError *abi.Error
}

// New makes an op of the body of a durable import. The body comes from a guest: it is checked.
func New(kind string, body []byte, number uint32, at int64) (*Op, *abi.Error) {
	decoded, err := abi.DecodeOp(kind, body)
	if err != nil {
		return nil, err
	}
	o := &Op{Op: journal.Op{Kind: kind, Number: number}, Body: decoded, IssuedAt: at}
	switch b := decoded.(type) {
	case *abi.Sleep:
		o.Name = b.Name
	case *abi.Activity:
		o.Name, o.Key = b.Name, b.Key
	case *abi.Deferred:
		o.Name = b.Name
	case *abi.Resolve:
		o.Name = b.Name
	case *abi.Call:
		o.Name = b.Workflow
	case *abi.Poll:
		o.Name = b.Execution
	case *abi.Interrupt:
		o.Name = b.Execution
	case *abi.Patched:
		o.Name = b.ID
	case *abi.Receive:
		o.Name = b.Name
	case *abi.Signal:
		o.Name = b.Name
	case *abi.EntityMessage:
		o.Name = b.Operation
	case *abi.Answer:
		o.Key = b.ID
	}
	if o.Key == "" {
		hash, herr := argumentHash(decoded, body)
		if herr != nil {
			return nil, abi.Errorf(abi.CodeBadBody, "the arguments of %s %q are malformed: %v", kind, o.Name, herr)
		}
		o.Hash = hash
	}
	return o, nil
}

// Settled tells whether the op has its outcome: nothing may be done for it again.
func (o *Op) Settled() bool { return o.Outcome != nil || o.Journaled }

// Settle gives the op the outcome that came to be at a time, unless it has one.
func (o *Op) Settle(outcome abi.Outcome, attempts uint32, at int64) {
	if !o.Settled() {
		o.Outcome, o.Attempts, o.ReadyAt = &outcome, attempts, max(at, o.IssuedAt)
	}
}

// CompareReady orders ops with an outcome: by when it came to be, then by when they were issued. So a timeout of ten
// seconds does not come before a sleep of one, also if the host was down when both were over.
func CompareReady(a, b *Op) int {
	return cmp.Or(cmp.Compare(a.ReadyAt, b.ReadyAt), cmp.Compare(a.Number, b.Number))
}
