package sqlite

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/cruster/cruster/journal"
)

// writerUser is one of the two sorts of users that want the write handle.
type writerUser int

const (
	journalUser writerUser = iota // transactions of the journal
	guestUser                     // transactions of modules
)

// nextUser decides which sort of user gets the writer after last has released it, given how many of each wait; false if
// none does.
func nextUser(last writerUser, waiting [2]int) (writerUser, bool) {
	other := 1 - last
	switch {
	case waiting[other] > 0:
		return other, true
	case waiting[last] > 0:
		return last, true
	}
	return 0, false
}

// preemptible is the transaction of a module.
type preemptible interface {
	// preempt rolls back, unless the transaction has ended, and releases the writer.
	preempt(reason error)
}

// writerQueue lends the write handle to one user at a time.
//
// SQLite has one writer, and two sorts of users want it: the journal, on which every execution of the host waits, and
// transactions of modules, which stay open while guest code runs. With a plain mutex a few slow modules would stop the
// whole host.
//
// So the two sorts alternate. After a module the journal goes first, if it waits; after the journal a module, if one
// waits. Neither can starve the other, and between two modules there is always room for a whole batch of the journal.
// While the journal waits, a module's transaction that has been open for longer than the grace is rolled back
// (preempted), and the host tries it again later. Each time the same work has twice the grace: were it always the same,
// work that takes a little longer would never get done while the journal is busy. The transaction's own limit bounds it
// in the end.
type writerQueue struct {
	clock clockwork.Clock
	grace time.Duration

	mu      sync.Mutex
	taken   bool               // guarded by mu, like all below
	user    writerUser         // the sort of user that has the writer
	guest   preemptible        // its transaction, if it is a module's
	since   time.Time          // when guest got the writer
	allowed time.Duration      // how long guest may make the journal wait
	timer   clockwork.Timer    // preempts guest; nil while the journal does not wait
	waiting [2][]*writerWaiter // by sort of user
	shutErr error
}

type writerWaiter struct {
	granted chan struct{} // closed when it has the writer, or the queue is shut
}

// acquire waits for the writer.
func (q *writerQueue) acquire(ctx context.Context, user writerUser) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	q.mu.Lock()
	if q.shutErr != nil {
		q.mu.Unlock()
		return q.shutErr
	}
	if !q.taken {
		q.taken, q.user = true, user
		q.mu.Unlock()
		return nil
	}
	w := &writerWaiter{granted: make(chan struct{})}
	q.waiting[user] = append(q.waiting[user], w)
	q.limitGuestLocked()
	q.mu.Unlock()

	select {
	case <-w.granted:
		q.mu.Lock()
		defer q.mu.Unlock()
		return q.shutErr
	case <-ctx.Done():
	}
	q.mu.Lock()
	if i := slices.Index(q.waiting[user], w); i >= 0 {
		q.waiting[user] = slices.Delete(q.waiting[user], i, i+1)
		q.mu.Unlock()
		return ctx.Err()
	}
	q.mu.Unlock()
	// The writer was granted at the same moment: pass it on.
	q.release()
	return ctx.Err()
}

// maxPatience bounds how often the grace is doubled.
const maxPatience = 10

// heldBy says that the module that has the writer began this transaction, whose work was preempted so often before.
func (q *writerQueue) heldBy(guest preemptible, conflicts int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.guest, q.since = guest, q.clock.Now()
	q.allowed = q.grace << min(conflicts, maxPatience)
	q.limitGuestLocked()
}

// limitGuestLocked starts the timer of a module that the journal waits for.
func (q *writerQueue) limitGuestLocked() {
	if q.guest == nil || q.timer != nil || len(q.waiting[journalUser]) == 0 {
		return
	}
	guest := q.guest
	q.timer = q.clock.AfterFunc(max(0, q.allowed-q.clock.Since(q.since)), func() {
		guest.preempt(journal.ErrPreempted)
	})
}

// release passes the writer on.
func (q *writerQueue) release() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.timer != nil {
		q.timer.Stop()
	}
	q.guest, q.timer = nil, nil
	next, ok := nextUser(q.user, [2]int{len(q.waiting[0]), len(q.waiting[1])})
	if !ok {
		q.taken = false
		return
	}
	w := q.waiting[next][0]
	q.waiting[next] = q.waiting[next][1:]
	q.user = next
	close(w.granted)
}

// preemptGuest rolls back the transaction of the module that has the writer, if one has it.
func (q *writerQueue) preemptGuest(reason error) {
	q.mu.Lock()
	guest := q.guest
	q.mu.Unlock()
	if guest != nil {
		guest.preempt(reason)
	}
}

// shut fails every acquire, waiting and later ones, with err.
func (q *writerQueue) shut(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.shutErr = err
	for user, waiting := range q.waiting {
		for _, w := range waiting {
			close(w.granted)
		}
		q.waiting[user] = nil
	}
}
