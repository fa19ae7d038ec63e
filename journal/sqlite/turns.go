package sqlite

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/cruster/cruster/journal"
)

// SQLite has one writer, and two sorts of users want it: the journal, on which
// every execution of the host waits, and transactions of modules, which stay
// open while guest code runs. A plain mutex would let a handful of slow modules
// hold the whole host up.
//
// So the writer is passed on in turns. After a module the journal goes first,
// if it waits; after the journal a module, if one waits. Neither can starve the
// other, and between two modules there is always room for a whole batch of the
// journal. While the journal waits, a module's transaction that has been open
// for longer than the grace is rolled back (preempted) and tried again later.

type turnClass int

const (
	journalTurn turnClass = iota
	guestTurn
)

// preemptible is the transaction of a module.
type preemptible interface {
	// preempt rolls back, unless it is over, and gives the turn back.
	preempt(reason error)
}

type turns struct {
	grace time.Duration

	mu      sync.Mutex
	taken   bool           // guarded by mu, like all below
	class   turnClass      // of whoever has the turn
	guest   preemptible    // who has it, if a module
	since   time.Time      // when guest got it
	timer   *time.Timer    // preempts guest; nil if nobody of the journal waits
	waiting [2][]*waitTurn // by class
	shutErr error
}

type waitTurn struct {
	given chan struct{} // closed when it is their turn, or the store is shut
}

// take waits for the turn.
func (t *turns) take(ctx context.Context, class turnClass) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	t.mu.Lock()
	if t.shutErr != nil {
		t.mu.Unlock()
		return t.shutErr
	}
	if !t.taken {
		t.taken, t.class = true, class
		t.mu.Unlock()
		return nil
	}
	w := &waitTurn{given: make(chan struct{})}
	t.waiting[class] = append(t.waiting[class], w)
	t.arm()
	t.mu.Unlock()

	select {
	case <-w.given:
		t.mu.Lock()
		defer t.mu.Unlock()
		return t.shutErr
	case <-ctx.Done():
	}
	t.mu.Lock()
	if i := slices.Index(t.waiting[class], w); i >= 0 {
		t.waiting[class] = slices.Delete(t.waiting[class], i, i+1)
		t.mu.Unlock()
		return ctx.Err()
	}
	t.mu.Unlock()
	// The turn came at the same moment: pass it on.
	t.give()
	return ctx.Err()
}

// held says that guest is the one who has the turn now.
func (t *turns) held(guest preemptible) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.guest, t.since = guest, time.Now()
	t.arm()
}

// arm starts the clock of a module that the journal waits for. Callers hold mu.
func (t *turns) arm() {
	if t.guest == nil || t.timer != nil || len(t.waiting[journalTurn]) == 0 {
		return
	}
	guest := t.guest
	t.timer = time.AfterFunc(max(0, t.grace-time.Since(t.since)), func() { guest.preempt(journal.ErrConflict) })
}

// give passes the turn on.
func (t *turns) give() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.timer != nil {
		t.timer.Stop()
	}
	t.guest, t.timer = nil, nil
	next := guestTurn
	if t.class == guestTurn {
		next = journalTurn
	}
	if len(t.waiting[next]) == 0 {
		next = 1 - next
	}
	if len(t.waiting[next]) == 0 {
		t.taken = false
		return
	}
	w := t.waiting[next][0]
	t.waiting[next] = t.waiting[next][1:]
	t.class = next
	close(w.given)
}

// preemptNow rolls the module that has the turn back, if one has.
func (t *turns) preemptNow(reason error) {
	t.mu.Lock()
	guest := t.guest
	t.mu.Unlock()
	if guest != nil {
		guest.preempt(reason)
	}
}

// shut answers everyone who waits, and who comes later, with err.
func (t *turns) shut(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.shutErr = err
	for class, waiting := range t.waiting {
		for _, w := range waiting {
			close(w.given)
		}
		t.waiting[class] = nil
	}
}
