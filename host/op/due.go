package op

import (
	"time"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// NeedsHost tells whether the host must do something for the op now, as opposed to waiting for a time or for a
// settlement from outside.
func (o *Op) NeedsHost() bool {
	if o.Settled() {
		return false
	}
	switch o.Kind {
	case abi.OpActivity:
		return o.NextAt == 0
	case abi.OpSend, abi.OpResolve, abi.OpPoll, abi.OpSignal, abi.OpEntitySend, abi.OpInterrupt:
		return true
	default:
		return o.MayAwait() && !o.Awaiting
	}
}

// Await says that the host has done its part: the answer will be sent. It may have come already, and the op needs the
// host then.
func (o *Op) Await() { o.Awaiting, o.early = !o.early, false }

// Answered says that the op needs the host again: an entity has answered a lock, and the next one is to be asked, or a
// callee has ended, and its result is to be read.
func (o *Op) Answered() { o.early, o.Awaiting = !o.Awaiting, false }

// MayAwait tells whether the op can wait outside of memory for a message that ends it: see [Op.Awaiting].
func (o *Op) MayAwait() bool {
	return o.Kind == abi.OpCall || o.Kind == abi.OpEntityCall || o.Kind == abi.OpLock
}

// DueAt is when the op next needs the host because of the time; Never if no time decides.
func (o *Op) DueAt() int64 {
	switch b := o.Body.(type) {
	case *abi.Sleep:
		return AddTime(o.IssuedAt, time.Duration(b.Duration))
	case *abi.Activity:
		if o.NextAt != 0 {
			return o.NextAt
		}
	case *abi.Patched:
		return o.IssuedAt
	}
	return journal.Never
}

// WakeAt is when an owner that does not have this op in memory must load its execution. It may be too early, never too
// late.
func (o *Op) WakeAt() int64 {
	if o.Settled() || o.NeedsHost() {
		return journal.Now
	}
	return o.DueAt()
}

// CompleteDue gives the op its outcome if it became ready by itself: a sleep that has ended, a deferred that is
// settled, an interrupt that was asked for. A retry whose delay has passed may begin. It reports how late a sleep
// ended; 0 otherwise.
func (o *Op) CompleteDue(
	now int64, deferreds map[string]journal.Settlement, interrupt *journal.Interrupt,
) (late time.Duration, woke bool) {
	if o.Settled() {
		return 0, false
	}
	switch b := o.Body.(type) {
	case *abi.Sleep:
		if due := o.DueAt(); due <= now {
			o.Settle(abi.Outcome{Value: abi.Nil}, 0, due)
			return time.Duration(now - due), true
		}
	case *abi.Activity:
		if o.NextAt != 0 && o.NextAt <= now {
			o.NextAt = 0
		}
	case *abi.Deferred:
		if d, ok := deferreds[b.Name]; ok {
			o.Settle(abi.Outcome{}, 0, d.At)
			o.Unread = max(d.Bytes, 1)
		}
	case *abi.Patched:
		// A run that comes here for the first time takes the change. A run that came by here with code that did not ask
		// is told otherwise by its replay.
		o.Settle(abi.Outcome{Value: abi.MustMarshal(true)}, 0, o.IssuedAt)
	case *abi.Interrupted:
		if interrupt != nil {
			o.Settle(abi.Outcome{Value: abi.MustMarshal(&abi.Interruption{Reason: interrupt.Reason})}, 0, interrupt.At)
		}
	}
	return 0, false
}

// Receive gives the op a message that it waited for.
func (o *Op) Receive(e journal.Envelope) {
	o.Settle(abi.Outcome{}, 0, e.At)
	o.Message, o.Unread = &e, max(e.Bytes, 1)
}

// AddTime adds without overflow. The result is never [journal.Now] nor [journal.Never], which mean something else.
func AddTime(at int64, d time.Duration) int64 {
	if d <= 0 {
		return max(at, 1)
	}
	if int64(d) > journal.Never-1-at {
		return journal.Never - 1
	}
	return at + int64(d)
}
