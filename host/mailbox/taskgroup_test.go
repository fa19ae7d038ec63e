package host

import (
	"sync"
	"sync/atomic"
	"testing"

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

func TestCrew(t *testing.T) {
	t.Parallel()
	var c crew
	require.True(t, isClosed(c.idle()), "nobody works yet")
	release, second := make(chan struct{}), make(chan struct{})
	require.True(t, c.start(func() { <-release }))
	idle := c.idle()
	require.False(t, isClosed(idle))
	require.True(t, c.start(func() { <-second }))
	close(release)
	close(second)
	<-idle
	require.True(t, c.start(func() {}), "it may grow again")
	<-c.idle()

	c.dismiss()
	require.False(t, c.start(func() { t.Error("somebody joined a crew that was dismissed") }))
	require.True(t, isClosed(c.idle()))
}

// TestCrewHammer has many join while others wait for idleness.
func TestCrewHammer(t *testing.T) {
	t.Parallel()
	var c crew
	var ran, joined atomic.Int64
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for i := range 500 {
				if c.start(func() { ran.Add(1) }) {
					joined.Add(1)
				}
				if i%50 == 0 {
					<-c.idle()
				}
			}
		})
	}
	all.Wait()
	<-c.idle()
	require.Equal(t, joined.Load(), ran.Load())
	require.EqualValues(t, 8*500, joined.Load())
}
