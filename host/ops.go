package host

import (
	"context"
	"crypto/sha256"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// maxPayload bounds one value: a body that carries it must stay within
// abi.MaxBody.
const maxPayload = abi.MaxBody - 64<<10

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

// decodeOp turns the body of a durable import into an op. The body comes from a
// guest: nothing in it is trusted.
func decodeOp(kind string, body []byte, number uint32, at int64) (*op, *abi.Error) {
	o := &op{Op: journal.Op{Kind: kind, Number: number}, issuedAt: at}
	var err *abi.Error
	switch kind {
	case abi.OpSleep:
		b, e := decodeAs[abi.Sleep](body)
		o.body, o.Name, err = b, b.Name, firstError(e, checkLabel(b.Name))
	case abi.OpActivity:
		b, e := decodeAs[abi.Activity](body)
		o.body, o.Name, o.Key = b, b.Name, b.Key
		err = firstError(e, checkName(kind, b.Name), checkRetry(b.Retry), checkPayload("the input", b.Input), checkOpKey(b.Key))
	case abi.OpDeferred:
		b, e := decodeAs[abi.Deferred](body)
		o.body, o.Name, err = b, b.Name, firstError(e, checkName(kind, b.Name))
	case abi.OpResolve:
		b, e := decodeAs[abi.Resolve](body)
		o.body, o.Name, err = b, b.Name, firstError(e, checkName(kind, b.Name), checkReference(b.Execution), checkSettlement(b))
	case abi.OpCall, abi.OpSend:
		b, e := decodeAs[abi.Call](body)
		o.body, o.Name, err = b, b.Workflow, firstError(e, checkReference(b.Workflow), checkPayload("the input", b.Input))
	case abi.OpPoll:
		b, e := decodeAs[abi.Poll](body)
		o.body, o.Name, err = b, b.Execution, firstError(e, checkReference(b.Execution))
	case abi.OpInterrupted:
		b, e := decodeAs[abi.Interrupted](body)
		o.body, err = b, e
	default:
		return nil, abi.Errorf(abi.CodeBadBody, "%q is no kind of op", kind)
	}
	if err != nil {
		return nil, err
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

func firstError(errs ...*abi.Error) *abi.Error {
	for _, e := range errs {
		if e != nil {
			return e
		}
	}
	return nil
}

func checkName(kind, name string) *abi.Error {
	if name == "" {
		return abi.Errorf(abi.CodeBadBody, "%s: the name is empty", kind)
	}
	return checkLabel(name)
}

func checkLabel(name string) *abi.Error {
	if len(name) > abi.MaxName || !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl) {
		return abi.Errorf(abi.CodeBadBody, "the name %.40q is longer than %d bytes, no UTF-8, or has a control character", name, abi.MaxName)
	}
	return nil
}

// maxReference bounds the name of a workflow or execution elsewhere: longer than
// any that can exist.
const maxReference = 1024

// checkReference bounds what a guest calls another workflow or execution. It is
// kept in the journal even if there is none of that name.
func checkReference(name string) *abi.Error {
	if len(name) > maxReference || !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl) {
		return abi.Errorf(abi.CodeBadBody, "%.40q names no workflow or execution: it is longer than %d bytes, no UTF-8, or has a control character", name, maxReference)
	}
	return nil
}

func checkOpKey(key string) *abi.Error {
	if len(key) > abi.MaxKey || !utf8.ValidString(key) || strings.ContainsFunc(key, unicode.IsControl) {
		return abi.Errorf(abi.CodeBadBody, "the key %.40q… is longer than %d bytes, no UTF-8, or has a control character", key, abi.MaxKey)
	}
	return nil
}

// checkPayload bounds a value and makes sure that it is one.
func checkPayload(what string, value []byte) *abi.Error {
	if len(value) > maxPayload {
		return abi.Errorf(abi.CodePayloadTooLarge, "%s has %d bytes, the limit is %d", what, len(value), maxPayload)
	}
	if _, err := abi.Canonical(value); err != nil {
		return abi.Errorf(abi.CodeBadBody, "%s is not one msgpack value: %v", what, err)
	}
	return nil
}

func checkRetry(r abi.Retry) *abi.Error {
	switch {
	case r.Backoff != "" && r.Backoff != abi.BackoffExponential && r.Backoff != abi.BackoffConstant:
		return abi.Errorf(abi.CodeBadBody, "%q is no backoff strategy", r.Backoff).
			WithHint("Use %q or %q.", abi.BackoffExponential, abi.BackoffConstant)
	case r.Base < 0:
		return abi.Errorf(abi.CodeBadBody, "the base of the backoff is negative")
	case !(r.Jitter >= 0 && r.Jitter <= 1):
		return abi.Errorf(abi.CodeBadBody, "the jitter %v is not between 0 and 1", r.Jitter)
	}
	return nil
}

func checkSettlement(b *abi.Resolve) *abi.Error {
	if b.Error != nil {
		return nil
	}
	return checkPayload("the value", b.Value)
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
