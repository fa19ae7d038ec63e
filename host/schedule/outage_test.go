package schedule

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/journal"
)

// TestAllowCatchesUpAfterALongOutage has no host for 150 ticks that may overlap, 100 of them at
// once: the others are started as those end, in whichever order that is.
func TestAllowCatchesUpAfterALongOutage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, id := newWorld(t), journal.ScheduleID("default", "s")
		ctx, cancel := context.WithCancel(t.Context())
		room := w.room(ctx)
		_, err := room.Create(ctx, journal.Schedule{Namespace: "default", Name: "s", Spec: journal.ScheduleSpec{
			Workflow: "a/B", Every: int64(time.Second), Overlap: journal.OverlapAllow,
		}})
		require.NoError(t, err)
		w.clock.Advance(150 * time.Second)
		require.NoError(t, room.attempt(id, func() {}))
		s, err := w.store.Schedule(ctx, id)
		require.NoError(t, err)
		require.Len(t, w.executions, maxOpen)
		require.Zero(t, s.State.Skipped)
		require.LessOrEqual(t, s.WakeAt, w.clock.Now().UnixNano(), "a host that knows nothing of it looks at once")

		for n := range 50 {
			w.mu.Lock()
			running := w.runningLocked()
			w.mu.Unlock()
			require.Len(t, running, maxOpen)
			w.end(running[n%len(running)], journal.Completed)
			synctest.Wait()
		}
		s, err = w.store.Schedule(ctx, id)
		require.NoError(t, err)
		require.EqualValues(t, 150, s.State.Ticks)
		require.Zero(t, s.State.Skipped+s.State.Missed)
		require.Equal(t, maxOpen, w.most)
		cancel()
		room.Close()
		w.check(t, s, newYear.UnixNano())
	})
}

// TestHeldTickIsMissedInTheEnd has runs that do not end: a tick that waits for one of them is missed
// when it is older than the catch-up window.
func TestHeldTickIsMissedInTheEnd(t *testing.T) {
	t.Parallel()
	w, id := newWorld(t), journal.ScheduleID("default", "s")
	room, end := w.host(t.Context())
	defer end()
	_, err := room.Create(t.Context(), journal.Schedule{Namespace: "default", Name: "s", Spec: journal.ScheduleSpec{
		Workflow: "a/B", Every: int64(time.Second), Overlap: journal.OverlapAllow, CatchUp: int64(3 * time.Minute),
	}})
	require.NoError(t, err)
	for range 2 {
		w.clock.Advance(150 * time.Second)
		require.NoError(t, room.attempt(id, func() {}))
	}
	s, err := w.store.Schedule(t.Context(), id)
	require.NoError(t, err)
	require.EqualValues(t, maxOpen, s.State.Ticks)
	require.EqualValues(t, 300-180-maxOpen-1, s.State.Missed, "ticks 101 to 119")
	require.Zero(t, s.State.Skipped)
}
