package host

import (
	"context"
	"crypto/sha256"
	"time"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// op is one durable request of a guest that has been issued and not delivered.
type op struct {
	journal.Op
	body     any   // the decoded body, one of abi's op types
	issuedAt int64 // journal time of the turn that issued it

	outcome *abi.Outcome // known, not yet delivered
	// journaled says that a transaction has made the delivery durable; it waits
	// for its place in the order and for nothing else.
	journaled bool

	// Of activities only.
	attempts  uint32 // that have failed
	nextAt    int64  // when the next may begin; 0 = at once
	lastError *abi.Error
}

// newOp makes an op of the body of a durable import.
func newOp(kind string, body []byte, number uint32, at int64) (*op, *abi.Error) {
	decoded, err := abi.DecodeOp(kind, body)
	if err != nil {
		return nil, err
	}
	o := &op{Op: journal.Op{Kind: kind, Number: number}, body: decoded, issuedAt: at}
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
	}
	if o.Key == "" {
		canonical, cerr := hashedPart(o.body, body)
		if cerr != nil {
			return nil, abi.Errorf(abi.CodeBadBody, "the arguments of %s %q are malformed: %v", kind, o.Name, cerr)
		}
		sum := sha256.Sum256(canonical)
		o.Hash = sum[:16]
	}
	return o, nil
}

// hashedPart is what tells an op from others of its name, in canonical form. A
// value that a body carries is bytes to [abi.Canonical], which leaves them as they
// are; so that two languages agree on it, it is made canonical on its own.
func hashedPart(decoded any, body []byte) ([]byte, error) {
	switch b := decoded.(type) {
	case *abi.Activity:
		return abi.Canonical(b.Input)
	case *abi.Call:
		call := *b
		call.Input = canonicalOr(b.Input)
		return abi.Marshal(call)
	case *abi.Resolve:
		resolve := *b
		resolve.Value = canonicalOr(b.Value)
		if b.Error != nil {
			rejection := *b.Error
			rejection.Details = canonicalOr(rejection.Details)
			resolve.Error = &rejection
		}
		return abi.Marshal(resolve)
	default:
		return abi.Canonical(body)
	}
}

// canonicalOr is the canonical form of a value, or what was given if that is
// none: the details of an error may be anything.
func canonicalOr(value []byte) []byte {
	if c, err := abi.Canonical(value); err == nil {
		return c
	}
	return value
}

func decodeAs[T any](body []byte) (*T, *abi.Error) {
	b := new(T)
	if err := abi.DecodeBody(body, b); err != nil {
		return b, abi.AsError(err)
	}
	return b, nil
}

// settled tells whether the op has its outcome: nothing may be done for it again.
func (o *op) settled() bool { return o.outcome != nil || o.journaled }

// hostWork tells whether the host must do something for the op now, as opposed
// to waiting for a time or for somebody outside.
func (o *op) hostWork() bool {
	if o.settled() {
		return false
	}
	switch o.Kind {
	case abi.OpActivity:
		return o.nextAt == 0
	case abi.OpCall, abi.OpSend, abi.OpResolve, abi.OpPoll:
		return true
	default:
		return false
	}
}

// dueAt is when the op next needs the host because of the time: Never if it
// does not.
func (o *op) dueAt() int64 {
	switch b := o.body.(type) {
	case *abi.Sleep:
		return addTime(o.issuedAt, time.Duration(b.Duration))
	case *abi.Activity:
		if o.nextAt != 0 {
			return o.nextAt
		}
	}
	return journal.Never
}

// wakeAt is when an owner without this op in memory must load its execution.
func (o *op) wakeAt() int64 {
	if o.settled() || o.hostWork() {
		return journal.Now
	}
	return o.dueAt()
}

// addTime adds without overflow; the result is never journal.Now, which means
// something else.
func addTime(at int64, d time.Duration) int64 {
	if d <= 0 {
		return max(at, 1)
	}
	if int64(d) > journal.Never-1-at {
		return journal.Never - 1
	}
	return at + int64(d)
}

// backoff is the delay before the next attempt after n have failed.
func backoff(r abi.Retry, failed uint32, random func() float64) time.Duration {
	base := time.Duration(r.Base)
	if base == 0 {
		base = abi.DefaultBackoff
	}
	delay := base
	if r.Backoff != abi.BackoffConstant {
		for i := uint32(1); i < failed && delay < abi.MaxBackoff; i++ {
			delay *= 2
		}
	}
	delay = min(delay, abi.MaxBackoff)
	if r.Jitter > 0 {
		delay -= time.Duration(r.Jitter * random() * float64(delay))
	}
	return delay
}

// work is what the host does for an op outside of the run.
type work struct{ cancel context.CancelFunc }
