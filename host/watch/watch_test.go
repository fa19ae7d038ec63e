package host

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/journal"
)

func TestWaiters(t *testing.T) {
	t.Parallel()
	ws := waiters{byID: map[journal.ID][]*waiter{}}
	one, two := &journal.Execution{ID: journal.ID{1}}, &journal.Execution{ID: journal.ID{2}}
	heard := map[string]int{}
	note := func(who string, enough bool) func(*journal.Execution) bool {
		return func(*journal.Execution) bool { heard[who]++; return enough }
	}
	ws.add(one.ID, note("once", true))
	stays := ws.add(one.ID, note("stays", false))
	gone := ws.add(one.ID, note("gone", true))
	ws.remove(one.ID, gone)
	ws.add(two.ID, note("other", true))

	ws.notify(one)
	ws.notify(one)
	require.Equal(t, map[string]int{"once": 1, "stays": 2}, heard)
	ws.remove(one.ID, stays)
	ws.remove(one.ID, stays)
	ws.notify(two)
	ws.notify(&journal.Execution{ID: journal.ID{3}})
	require.Equal(t, map[string]int{"once": 1, "stays": 2, "other": 1}, heard)
	require.Empty(t, ws.byID, "nobody waits, nothing is kept")
}

// TestWaiterLeavesWhileItIsTold removes a waiter at the worst moment.
func TestWaiterLeavesWhileItIsTold(t *testing.T) {
	t.Parallel()
	ws := waiters{byID: map[journal.ID][]*waiter{}}
	id := journal.ID{1}
	told := 0
	var w *waiter
	w = ws.add(id, func(*journal.Execution) bool {
		told++
		ws.remove(id, w)
		return false
	})
	ws.notify(&journal.Execution{ID: id})
	ws.notify(&journal.Execution{ID: id})
	require.Equal(t, 1, told)
	require.Empty(t, ws.byID, "a waiter that left is still kept")
}

// TestWaitersHammer adds, tells and removes from many sides.
func TestWaitersHammer(t *testing.T) {
	t.Parallel()
	ws := waiters{byID: map[journal.ID][]*waiter{}}
	var told atomic.Int64
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for n := range 300 {
				id := journal.ID{byte(n % 3)}
				w := ws.add(id, func(*journal.Execution) bool { told.Add(1); return i%2 == 0 })
				ws.notify(&journal.Execution{ID: id})
				ws.remove(id, w)
			}
		})
	}
	all.Wait()
	require.Empty(t, ws.byID)
	require.Positive(t, told.Load())
}
