package watch

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/journal"
)

func TestNotify(t *testing.T) {
	t.Parallel()
	list := NewList()
	one, two := &journal.Execution{ID: journal.ID{1}}, &journal.Execution{ID: journal.ID{2}}
	heard := map[string]int{}
	note := func(who string, enough bool) func(*journal.Execution) bool {
		return func(*journal.Execution) bool { heard[who]++; return enough }
	}
	list.Add(one.ID, note("once", true))
	stays := list.Add(one.ID, note("stays", false))
	gone := list.Add(one.ID, note("gone", true))
	list.Remove(one.ID, gone)
	list.Add(two.ID, note("other", true))

	list.Notify(one)
	list.Notify(one)
	require.Equal(t, map[string]int{"once": 1, "stays": 2}, heard)
	list.Remove(one.ID, stays)
	list.Remove(one.ID, stays)
	list.Notify(two)
	list.Notify(&journal.Execution{ID: journal.ID{3}})
	require.Equal(t, map[string]int{"once": 1, "stays": 2, "other": 1}, heard)
	require.Empty(t, list.byID, "nothing is kept for watchers that left")
}

// TestRemoveWhileBeingTold removes a watcher at the worst moment.
func TestRemoveWhileBeingTold(t *testing.T) {
	t.Parallel()
	list := NewList()
	id := journal.ID{1}
	told := 0
	var w *Watcher
	w = list.Add(id, func(*journal.Execution) bool {
		told++
		list.Remove(id, w)
		return false
	})
	list.Notify(&journal.Execution{ID: id})
	list.Notify(&journal.Execution{ID: id})
	require.Equal(t, 1, told)
	require.Empty(t, list.byID, "a watcher that left is still kept")
}

// TestNotifyWhileBeingTold notifies a watcher while it handles another notification.
func TestNotifyWhileBeingTold(t *testing.T) {
	t.Parallel()
	list := NewList()
	id := journal.ID{1}
	var heard []journal.State
	list.Add(id, func(row *journal.Execution) bool {
		heard = append(heard, row.State)
		if row.State == journal.Paused {
			list.Notify(&journal.Execution{ID: id, State: journal.Completed})
		}
		return row.State == journal.Completed
	})
	list.Notify(&journal.Execution{ID: id, State: journal.Paused})
	require.Equal(t, []journal.State{journal.Paused, journal.Completed}, heard)
	require.Empty(t, list.byID)
}

// TestListHammer adds, tells and removes from many sides.
func TestListHammer(t *testing.T) {
	t.Parallel()
	list := NewList()
	var told atomic.Int64
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for n := range 300 {
				id := journal.ID{byte(n % 3)}
				w := list.Add(id, func(*journal.Execution) bool { told.Add(1); return i%2 == 0 })
				list.Notify(&journal.Execution{ID: id})
				list.Remove(id, w)
			}
		})
	}
	all.Wait()
	require.Empty(t, list.byID)
	require.Positive(t, told.Load())
}

// TestNotifyDeleted: watchers that want to know are told of runs that were deleted, of their chain alone.
func TestNotifyDeleted(t *testing.T) {
	t.Parallel()
	list := NewList()
	id, chain := journal.ID{1}, journal.RunID{7}
	never := func(*journal.Execution) bool { return false }
	other := list.Add(id, never)
	told := 0
	list.AddUntilDeleted(id, never, func(of journal.RunID) bool { told++; return of == chain })
	list.NotifyDeleted(id, journal.RunID{8})
	list.NotifyDeleted(id, chain)
	list.NotifyDeleted(id, chain)
	require.Equal(t, 2, told)
	list.Remove(id, other)
	require.Empty(t, list.byID)
}
