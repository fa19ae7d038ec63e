package host

import (
	"container/heap"
	"context"
	"sync"
	"time"

	"github.com/cruster/cruster/journal"
)

// timerHorizon is how far ahead the heap looks for executions that are not in
// memory; what is due later is left to the store until a scan finds it near.
const timerHorizon = 2 * time.Minute

// timers wakes executions at their time: one heap, one goroutine, one entry an
// execution.
type timers struct {
	now  func() time.Time
	fire func(id journal.ID)
	kick chan struct{} // a new earliest time

	mu   sync.Mutex
	heap timerHeap                 // guarded by mu
	byID map[journal.ID]*timerItem // guarded by mu
}

type timerItem struct {
	id    journal.ID
	at    int64
	index int
}

func newTimers(now func() time.Time, fire func(journal.ID)) *timers {
	return &timers{now: now, fire: fire, kick: make(chan struct{}, 1), byID: map[journal.ID]*timerItem{}}
}

// set has an execution woken at a time; journal.Never takes it out.
func (t *timers) set(id journal.ID, at int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	item := t.byID[id]
	switch {
	case item == nil && at == journal.Never:
		return
	case item == nil:
		item = &timerItem{id: id, at: at}
		t.byID[id] = item
		heap.Push(&t.heap, item)
	case at == journal.Never:
		heap.Remove(&t.heap, item.index)
		delete(t.byID, id)
		return
	default:
		item.at = at
		heap.Fix(&t.heap, item.index)
	}
	if item.index == 0 {
		select {
		case t.kick <- struct{}{}:
		default:
		}
	}
}

// has tells whether an execution has a timer.
func (t *timers) has(id journal.ID) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.byID[id] != nil
}

// run fires what is due until ctx ends.
func (t *timers) run(ctx context.Context) {
	alarm := time.NewTimer(time.Hour)
	defer alarm.Stop()
	for {
		due, next := t.pop()
		for _, id := range due {
			t.fire(id)
		}
		alarm.Reset(next)
		select {
		case <-alarm.C:
		case <-t.kick:
		case <-ctx.Done():
			return
		}
	}
}

// pop takes what is due, and tells how long until the next is.
func (t *timers) pop() (due []journal.ID, next time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now().UnixNano()
	for len(t.heap) > 0 && t.heap[0].at <= now {
		item := heap.Pop(&t.heap).(*timerItem)
		delete(t.byID, item.id)
		due = append(due, item.id)
	}
	if len(t.heap) == 0 {
		return due, time.Hour
	}
	return due, time.Duration(t.heap[0].at - now)
}

type timerHeap []*timerItem

func (h timerHeap) Len() int           { return len(h) }
func (h timerHeap) Less(i, j int) bool { return h[i].at < h[j].at }
func (h timerHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}
func (h *timerHeap) Push(x any) {
	item := x.(*timerItem)
	item.index = len(*h)
	*h = append(*h, item)
}
func (h *timerHeap) Pop() any {
	old := *h
	item := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	return item
}

// timerFired wakes an execution whose time has come.
func (e *Engine) timerFired(id journal.ID) {
	e.fault(FaultTimerFired)
	if !e.draining.Load() {
		e.post(id, wakeMail{})
	}
}
