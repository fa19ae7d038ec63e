package timer

import (
	"cmp"
	"container/heap"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/cruster/cruster/journal"
)

// Horizon is how far ahead the heap looks for executions that are not in memory, if they are not too many. Later ones
// are left to the store until a scan finds them near.
const Horizon = 2 * time.Minute

const (
	// idleWait is how long an empty heap waits before it looks again.
	idleWait = time.Hour
	// recheck is how long a heap with timers waits at most. Timers of the machine run on a clock that stands still
	// while it is suspended, and that knows nothing of the wall clock being set.
	recheck = time.Second
	// fine is how late a timer of the Go runtime may be on a machine that has time for it.
	fine = time.Millisecond
)

// Heap wakes executions at their time.
type Heap struct {
	clock clockwork.Clock
	fire  func(id journal.ID)
	soon  func(id journal.ID) // nil if no one wants to know
	kick  chan struct{}       // capacity 1: there is a new earliest time, or one has come

	maxLeft int // see MaxLeft

	mu    sync.Mutex
	items items                // guarded by mu
	byID  map[journal.ID]*item // guarded by mu
	slots slots                // guarded by mu

	firedAt int64 // guarded by mu; when something was due last
	left    int   // guarded by mu; those of executions that are not in memory
	until   int64 // guarded by mu; the end of the window
	cut     bool  // guarded by mu; it ends where it does for want of room
}

// New makes a heap that calls fire, on the goroutine of [Heap.Run], for each execution whose time has come, and soon,
// if that is not nil, a little before. An execution whose time is so near when it is set is not announced.
func New(clock clockwork.Clock, fire, soon func(journal.ID)) *Heap {
	return &Heap{
		clock:   clock,
		fire:    fire,
		soon:    soon,
		kick:    make(chan struct{}, 1),
		maxLeft: MaxLeft,
		byID:    map[journal.ID]*item{},
		slots:   slots{},
		until:   clock.Now().Add(Horizon).UnixNano(),
	}
}

// Set has an execution woken at a time; [journal.Never] takes it out. The execution is in memory, until it says
// otherwise: see [Heap.Leave].
func (h *Heap) Set(id journal.ID, at int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.setLocked(id, at)
}

func (h *Heap) setLocked(id journal.ID, at int64) {
	it, now := h.byID[id], h.clock.Now().UnixNano()
	near := h.soon == nil || at <= now+int64(Ahead)
	switch {
	case it == nil && at == journal.Never:
		return
	case it == nil:
		it = &item{id: id, at: at, lead: h.slots.add(at), announced: near}
		h.byID[id] = it
		heap.Push(&h.items, it)
	case at == journal.Never:
		heap.Remove(&h.items, it.index)
		h.forgetLocked(it)
		return
	default:
		if it.left {
			it.left = false
			h.left--
		}
		// An execution that was announced sets the same time again.
		it.announced = near || it.announced && it.at == at
		if it.at != at {
			h.slots.remove(it.at)
			it.at, it.lead = at, h.slots.add(at)
		}
		heap.Fix(&h.items, it.index)
	}
	// If the first is overdue, the clock was set and the alarm is not right any more.
	if first := h.items[0]; it == first || first.next() <= now {
		h.look()
	}
}

// Has tells whether an execution has a timer.
func (h *Heap) Has(id journal.ID) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.byID[id] != nil
}

// Run fires due executions, by the wall clock, until ctx ends.
//
// The alarm may be late by as much as fine. So it goes off that much before the time, and for the remainder a goroutine
// waits that knows better. It has a processor to itself only where one is idle, so the alarm is set again beside it:
// the first of the two counts. It waits once for a time. If that has not come by then, the clock is another one than
// the machine's, and the alarm tells.
func (h *Heap) Run(ctx context.Context) {
	alarm := h.clock.NewTimer(idleWait)
	defer alarm.Stop()
	var pausing sync.WaitGroup
	defer pausing.Wait()
	pauses := make(chan time.Duration)
	defer close(pauses)
	pausing.Go(func() { h.kickAfter(pauses) })
	for paused := false; ; {
		due, soon, next := h.popDue()
		for _, id := range due {
			h.fire(id)
		}
		for _, id := range soon {
			h.soon(id)
		}
		paused = paused && len(due) == 0 && next <= fine
		if next > fine {
			next -= fine
		} else if !paused {
			paused = true
			select {
			case pauses <- next:
			default: // one is under way
			}
		}
		alarm.Reset(min(next, h.longestWait()))
		select {
		case <-alarm.Chan():
		case <-h.kick:
		case <-ctx.Done():
			return
		}
	}
}

// kickAfter has the heap looked at after each of the pauses.
func (h *Heap) kickAfter(pauses <-chan time.Duration) {
	for d := range pauses {
		pause(d)
		h.look()
	}
}

// look has Run look at the heap.
func (h *Heap) look() {
	select {
	case h.kick <- struct{}{}:
	default:
	}
}

// popDue takes the due executions, notes the ones to announce, and tells how long until there are more of either.
func (h *Heap) popDue() (due, soon []journal.ID, next time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := h.clock.Now().UnixNano()
	var over, early []*item
	for len(h.items) > 0 && h.items[0].next() <= now {
		it := h.items[0]
		if it.at > now {
			it.announced = true
			heap.Fix(&h.items, it.index)
			early = append(early, it)
			continue
		}
		heap.Pop(&h.items)
		h.forgetLocked(it)
		over = append(over, it)
	}
	// Timers that could not be announced in time, because the host was away, came first.
	slices.SortStableFunc(over, func(a, b *item) int { return cmp.Compare(a.at, b.at) })
	for _, it := range over {
		due = append(due, it.id)
	}
	if len(over) > 0 {
		h.firedAt = now
	}
	for _, it := range early {
		if !h.postponeLocked(it, now) {
			soon = append(soon, it.id)
		}
	}
	if len(h.items) == 0 {
		return due, soon, idleWait
	}
	return due, soon, time.Duration(h.items[0].next() - now)
}

func (h *Heap) longestWait() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.items) == 0 {
		return idleWait
	}
	return recheck
}

type item struct {
	id        journal.ID
	at        int64
	lead      time.Duration // how long before that it is announced
	announced bool          // or it need not be
	left      bool          // the execution is not in memory: see window.go
	index     int
}

// next is when something is to be done about it.
func (it *item) next() int64 {
	if it.announced {
		return it.at
	}
	return it.at - int64(it.lead)
}

// items implements heap.Interface: the earliest comes first.
type items []*item

func (s items) Len() int           { return len(s) }
func (s items) Less(i, j int) bool { return s[i].next() < s[j].next() }
func (s items) Swap(i, j int) {
	s[i], s[j] = s[j], s[i]
	s[i].index, s[j].index = i, j
}

func (s *items) Push(x any) {
	it := x.(*item)
	it.index = len(*s)
	*s = append(*s, it)
}

func (s *items) Pop() any {
	old := *s
	last := old[len(old)-1]
	old[len(old)-1] = nil
	*s = old[:len(old)-1]
	return last
}
