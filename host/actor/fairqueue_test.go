package actor

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

// TestFairQueue has one owner fill the queue before another comes.
func TestFairQueue(t *testing.T) {
	t.Parallel()
	var g TaskGroup
	q := NewFairQueue[string](&g, 1)
	var ran []string // by the one goroutine that there is
	started, proceed := make(chan struct{}), make(chan struct{})
	require.True(t, q.Go("a", func() { close(started); <-proceed }))
	<-started
	task := func(name string) func() { return func() { ran = append(ran, name) } }
	for range 3 {
		require.True(t, q.Go("a", task("a")))
	}
	q.Go("b", task("b"))
	q.Go("c", task("c"))
	q.Go("c", task("c"))
	require.Equal(t, 6, q.Waiting())
	close(proceed)
	<-g.Idle()
	require.Equal(t, []string{"a", "b", "c", "a", "c", "a"}, ran)
	require.Zero(t, q.Waiting())
	require.Zero(t, q.taken)
	require.Empty(t, q.waiting)

	g.Close()
	require.False(t, q.Go("a", task("late")))
	require.Zero(t, q.taken)
}

// TestFairQueueTaskThatEndsItsGoroutine gives its place to the next.
func TestFairQueueTaskThatEndsItsGoroutine(t *testing.T) {
	t.Parallel()
	var g TaskGroup
	q := NewFairQueue[int](&g, 1)
	started, proceed := make(chan struct{}), make(chan struct{})
	q.Go(1, func() { close(started); <-proceed; runtime.Goexit() })
	<-started
	ran := make(chan struct{})
	q.Go(1, func() { close(ran) })
	close(proceed)
	<-ran
	<-g.Idle()
	require.Zero(t, q.taken)
}

// TestFairQueueOfAClosedGroup begins none of the tasks that wait.
func TestFairQueueOfAClosedGroup(t *testing.T) {
	t.Parallel()
	var g TaskGroup
	q := NewFairQueue[int](&g, 1)
	started, proceed := make(chan struct{}), make(chan struct{})
	q.Go(1, func() { close(started); <-proceed })
	<-started
	for owner := range 3 {
		q.Go(owner, func() { t.Error("it ran") })
	}
	g.Close()
	close(proceed)
	<-g.Idle()
	require.Zero(t, q.Waiting())
	require.Zero(t, q.taken)
}

// TestFairQueueHammer counts how many tasks of many owners run at the same time.
func TestFairQueueHammer(t *testing.T) {
	t.Parallel()
	const places, owners, each = 3, 8, 200
	var g TaskGroup
	q := NewFairQueue[int](&g, places)
	var inside, most, ran atomic.Int64
	var all sync.WaitGroup
	for owner := range owners {
		all.Go(func() {
			for range each {
				q.Go(owner, func() {
					n := inside.Add(1)
					for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
					}
					runtime.Gosched()
					inside.Add(-1)
					ran.Add(1)
				})
			}
		})
	}
	all.Wait()
	<-g.Idle()
	require.EqualValues(t, owners*each, ran.Load())
	require.LessOrEqual(t, most.Load(), int64(places))
	require.Zero(t, q.taken)
}

// TestFairQueueHolds: the tasks of an owner that is held wait, also if there is a place, and the tasks of others go on.
func TestFairQueueHolds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var g TaskGroup
		q := NewFairQueue[string](&g, 2)
		var mu sync.Mutex
		ran := map[string]int{}
		add := func(owner string) {
			q.Go(owner, func() {
				mu.Lock()
				defer mu.Unlock()
				ran[owner]++
			})
		}
		proceed := make(chan struct{})
		for range 2 {
			q.Go("busy", func() { <-proceed })
		}
		for range 5 {
			add("held")
			add("free")
		}
		q.Hold("held")
		q.Hold("held")
		add("held")
		close(proceed)
		synctest.Wait()
		add("held")
		add("free")
		synctest.Wait()
		require.Equal(t, map[string]int{"free": 6}, ran)
		require.Equal(t, 7, q.Waiting())
		require.Zero(t, q.taken)

		q.Resume("free")
		q.Resume("held")
		q.Resume("held")
		synctest.Wait()
		require.Equal(t, map[string]int{"free": 6, "held": 7}, ran)
		q.Hold("held")
		add("held")
		g.Close()
		q.Resume("held")
		<-g.Idle()
		require.Zero(t, q.Waiting())
		require.Zero(t, q.taken)
		require.Empty(t, q.held)
		require.Equal(t, 7, ran["held"], "the group is closed")
	})
}

// TestFairQueueIsShut: no task of anyone begins while a queue is shut, tasks under way end, and all others run when it
// is open again.
func TestFairQueueIsShut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var group TaskGroup
		q := NewFairQueue[string](&group, 2)
		var ran atomic.Int64
		goOn := make(chan struct{})
		for _, owner := range []string{"a", "b", "c"} {
			q.Go(owner, func() {
				<-goOn
				ran.Add(1)
			})
		}
		synctest.Wait()
		q.Hold("c")
		q.Shut()
		close(goOn)
		synctest.Wait()
		q.Go("a", func() { ran.Add(1) })
		q.Resume("c")
		synctest.Wait()
		require.EqualValues(t, 2, ran.Load())
		require.Equal(t, 2, q.Waiting())
		q.Open()
		synctest.Wait()
		require.EqualValues(t, 4, ran.Load())
		require.Zero(t, q.Waiting())
		group.Close()
	})
}
