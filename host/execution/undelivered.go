package execution

import (
	"sync"
	"sync/atomic"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/activity"
	"github.com/cruster/cruster/host/actor"
	"github.com/cruster/cruster/host/execution/ledger"
	"github.com/cruster/cruster/host/op"
	"github.com/cruster/cruster/journal"
)

// maxUndelivered is how many bytes of outcomes a run may have in hand before no further attempt of its activities
// begins. A turn delivers [ledger.MaxBatchBytes] of them, so that more would only wait: for the store, for memory, or
// for a guest that computes.
const maxUndelivered = 4 * ledger.MaxBatchBytes

// maxReading bounds the outcomes of other executions that are read at the same time. A read waits for nothing but the
// store.
const maxReading = 8

// inHand counts the bytes of outcomes that a run has not delivered yet: of attempts, polls, calls
// of finished executions, and entities. An outcome is unread from when its task has it until the
// run ends the task, which it does once for every task: so nothing is left over, whatever the fate
// of the message.
//
// Invariant: a task that finds too much in hand holds up the others of its run before it posts its outcome. So the run
// receives something after that, and every time it has received something it decides anew (see pace): tasks are not
// held up for ever.
//
// The answer of an entity holds up the others, and is not held up itself: an operation that keeps
// no receipt would run again if its answer were let go of.
//
// The same bytes of all runs together are bounded as well: there may be a thousand at work. Above the limit no further
// attempt or read begins, of any run. Outcomes wait for the store, for instances and for their turn to compute, and for
// no attempt that has not begun: so they become fewer.
type undelivered struct {
	unread atomic.Int64
	known  atomic.Int64 // exact whenever the run has received something
	all    *outcomes
}

// outcomes counts the bytes of outcomes that the runs of a host have not delivered yet.
type outcomes struct {
	limit  int64                          // 0 is none
	queues []*actor.FairQueue[journal.ID] // of runs that bring further ones

	mu    sync.Mutex
	bytes int64 // guarded by mu
	shut  bool  // guarded by mu; the queues are
}

// add counts more bytes, or fewer.
func (o *outcomes) add(bytes int64) {
	if bytes == 0 {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.bytes += bytes
	shut := o.limit > 0 && o.bytes > o.limit
	if shut == o.shut {
		return
	}
	o.shut = shut
	for _, q := range o.queues {
		if shut {
			q.Shut()
		} else {
			q.Open()
		}
	}
}

// OutcomeBytes is how many bytes of outcomes the runs have not delivered yet.
func (x *Executions) OutcomeBytes() int64 {
	x.outcomes.mu.Lock()
	defer x.outcomes.mu.Unlock()
	return x.outcomes.bytes
}

// setKnown says how many bytes the run has received and not delivered.
func (h *undelivered) setKnown(bytes int64) { h.all.add(bytes - h.known.Swap(bytes)) }

func (h *undelivered) tooMuch() bool { return h.unread.Load()+h.known.Load() > maxUndelivered }

// ended says that the attempt of a task has come to something.
func (t *task) ended(report activity.Report) {
	switch report := report.(type) {
	case activity.Done:
		t.came(report.Outcome)
	case activity.Failed:
		t.came(abi.Outcome{Error: report.Err})
	case activity.Committed:
		if !report.Delivered {
			t.came(abi.Outcome{Value: report.Entry.Value})
		}
	}
}

// came says that a task has an outcome, which it is about to post.
func (t *task) came(outcome abi.Outcome) {
	bytes := op.Bytes(outcome.Value, outcome.Error)
	if bytes == 0 || !t.unread.CompareAndSwap(0, bytes) {
		return // the run has ended the task already
	}
	t.inHand.unread.Add(bytes)
	t.execs.outcomes.add(bytes)
	if t.inHand.tooMuch() {
		t.execs.performing.Hold(t.id)
		t.execs.reading.Hold(t.id)
	}
}

// read says that the run has ended the task.
func (s *taskSet) read(t *task) {
	if bytes := t.unread.Swap(-1); bytes > 0 {
		s.undelivered.known.Add(bytes)
		s.undelivered.unread.Add(-bytes)
	}
}

// pace lets attempts of the activities and reads begin, unless there is too much in hand. Carried is
// how many bytes are kept during a reload.
func (s *taskSet) pace(carried int64) {
	known := carried
	s.ledger.with(func(l *ledger.Ledger) { known += l.UndeliveredBytes() })
	s.undelivered.setKnown(known)
	if !s.undelivered.tooMuch() {
		s.execs.performing.Resume(s.id)
		s.execs.reading.Resume(s.id)
	}
	if s.undelivered.tooMuch() { // also if a task has ended in between, and its hold was ended
		s.execs.performing.Hold(s.id)
		s.execs.reading.Hold(s.id)
	}
}
