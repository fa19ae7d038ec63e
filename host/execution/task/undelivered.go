package task

import (
	"sync"
	"sync/atomic"

	"github.com/cruster/cruster/host/actor"
	"github.com/cruster/cruster/host/execution/ledger"
	"github.com/cruster/cruster/journal"
)

// MaxUndelivered is how many bytes of outcomes a run may have in hand before no further attempt of its activities
// begins. A turn delivers [ledger.MaxBatchBytes] of them, so that more would only wait: for the store, for memory, or
// for a guest that computes.
const MaxUndelivered = 4 * ledger.MaxBatchBytes

// MaxReading bounds the outcomes of other executions that are read at the same time. A read waits for nothing but the
// store.
const MaxReading = 8

// undelivered counts the bytes of outcomes that a run has not delivered yet: of attempts, polls, calls
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

// setKnown says how many bytes the run has received and not delivered.
func (h *undelivered) setKnown(bytes int64) { h.all.add(bytes - h.known.Swap(bytes)) }

func (h *undelivered) bytes() int64 { return h.unread.Load() + h.known.Load() }

func (h *undelivered) tooMuch() bool { return h.bytes() > MaxUndelivered }

// total is how many bytes of outcomes the runs have not delivered yet.
func (o *outcomes) total() int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.bytes
}
