package execution

import (
	"sync/atomic"

	"github.com/cruster/cruster/host/activity"
	"github.com/cruster/cruster/host/op"
	"github.com/cruster/cruster/journal"
)

// maxUndelivered is how many bytes of outcomes a run may have in hand before no further attempt
// of its activities begins. A turn delivers maxBatchBytes of them, so that more would only
// wait: for the store, for memory, or for a guest that computes.
const maxUndelivered = 4 * maxBatchBytes

// inHand counts the bytes of outcomes that a run has not delivered yet. An outcome is unread
// from when its attempt has ended until the run ends the task, which it does once for every
// task: so nothing is left over, whatever becomes of the message.
//
// Invariant: an attempt that finds too much in hand holds up the others of its run before it
// posts its outcome. So the run receives something after that, and every time it has received
// something it decides anew (see pace): attempts are not held up for ever.
type inHand struct {
	unread atomic.Int64
	known  atomic.Int64 // exact whenever the run has received something
}

func (h *inHand) tooMuch() bool { return h.unread.Load()+h.known.Load() > maxUndelivered }

// ended says that the attempt of a task has come to something.
func (t *task) ended(r *run, report activity.Report) {
	var bytes int64
	switch report := report.(type) {
	case activity.Done:
		bytes = op.Bytes(report.Outcome.Value, report.Outcome.Error)
	case activity.Failed:
		bytes = op.Bytes(nil, report.Err)
	case activity.Committed:
		if !report.Delivered {
			bytes = op.Bytes(report.Entry.Value, nil)
		}
	}
	if bytes == 0 || !t.unread.CompareAndSwap(0, bytes) {
		return // the run has ended the task already
	}
	r.inHand.unread.Add(bytes)
	if r.inHand.tooMuch() {
		r.performing.Hold(r.id)
	}
}

// read says that the run has ended the task of an attempt.
func (r *run) read(t *task) {
	if t == nil {
		return
	}
	if bytes := t.unread.Swap(-1); bytes > 0 {
		r.inHand.known.Add(bytes)
		r.inHand.unread.Add(-bytes)
	}
}

// pace lets attempts of the activities begin, unless there is too much in hand.
func (r *run) pace() {
	known := r.kept.bytes()
	r.locked(func(l *ledger) { known += l.inHand() })
	r.inHand.known.Store(known)
	if !r.inHand.tooMuch() {
		r.performing.Resume(r.id)
	}
	if r.inHand.tooMuch() { // also if an attempt has ended in between, and its hold was ended
		r.performing.Hold(r.id)
	}
}

// inHand is how many bytes wait to be delivered, or to be committed.
func (l *ledger) inHand() int64 {
	bytes := l.ops.ReadyBytes()
	for _, entries := range [][]journal.Entry{l.committed, l.attempts} {
		for i := range entries {
			bytes += op.Bytes(entries[i].Value, entries[i].Error)
		}
	}
	return bytes
}

func (k *kept) bytes() (bytes int64) {
	for _, m := range k.outcomes {
		bytes += op.Bytes(m.outcome.Value, m.outcome.Error)
	}
	return bytes
}
