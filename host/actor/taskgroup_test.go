package actor

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

func isClosed(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}

func TestTaskGroup(t *testing.T) {
	t.Parallel()
	var g TaskGroup
	require.True(t, isClosed(g.Idle()), "no task runs yet")
	release, second := make(chan struct{}), make(chan struct{})
	require.True(t, g.Go(func() { <-release }))
	idle := g.Idle()
	require.False(t, isClosed(idle))
	require.True(t, g.Go(func() { <-second }))
	close(release)
	close(second)
	<-idle
	require.True(t, g.Go(func() {}), "it may grow again")
	<-g.Idle()

	g.Close()
	require.False(t, g.Go(func() { t.Error("a task joined a closed group") }))
	require.True(t, isClosed(g.Idle()))
}

// TestTaskGroupHammer has many tasks join while others wait for the group to be idle.
func TestTaskGroupHammer(t *testing.T) {
	t.Parallel()
	var g TaskGroup
	var ran, joined atomic.Int64
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for i := range 500 {
				if g.Go(func() { ran.Add(1) }) {
					joined.Add(1)
				}
				if i%50 == 0 {
					<-g.Idle()
				}
			}
		})
	}
	all.Wait()
	<-g.Idle()
	require.Equal(t, joined.Load(), ran.Load())
	require.EqualValues(t, 8*500, joined.Load())
}

// TestTaskGroupReusesGoroutines has tasks run one after the other.
func TestTaskGroupReusesGoroutines(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var g TaskGroup
		for range 3 {
			require.True(t, g.Go(func() {}))
			synctest.Wait()
			require.Len(t, g.idle, 1, "the same goroutine waits for the next task")
		}
		require.True(t, g.Go(runtime.Goexit))
		synctest.Wait()
		require.Empty(t, g.idle, "it ended with its task")
		require.True(t, isClosed(g.Idle()))

		release := make(chan struct{})
		for range maxIdle + 10 {
			g.Go(func() { <-release })
		}
		close(release)
		synctest.Wait()
		require.Len(t, g.idle, maxIdle)
		g.Close() // all end, or the test would not
	})
}
