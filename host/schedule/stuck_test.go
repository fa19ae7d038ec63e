package schedule

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// TestTooManyDeclaredHoldUpNothing has a module declare more schedules than there is room for.
// Schedules that fit are made, places of schedules no longer declared are used, and a host that
// finds the rest undone recovers, so that retention begins.
func TestTooManyDeclaredHoldUpNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.places = 4 // a marker among them
		deployed := declaring(t, map[string]string{"a": "@hourly", "b": "@hourly"})
		boot := func() (*Schedules, func()) {
			room, crash := w.host(t.Context())
			room.Declared = func(context.Context, string, string) ([]journal.Schedule, error) { return deployed, nil }
			return room, crash
		}
		room, crash := boot()
		push := func() error {
			d := room.Declare("default", "a")
			defer d.Release()
			require.NoError(t, d.Begin(t.Context(), deployed))
			return d.Finish(t.Context())
		}
		require.NoError(t, push())
		deployed = declaring(t, map[string]string{"b": "@daily", "c": "@hourly", "d": "@hourly", "e": "@hourly"})
		require.Equal(t, abi.CodeTooManySchedules, abi.CodeOf(push()))
		made := names(t, room)
		require.Len(t, made, 3)
		require.Contains(t, made, "a/b @daily")
		crash()

		room, crash = boot()
		room.EnsureInMemory(journal.ScheduleID("default", "a/"))
		room.Scanned()
		synctest.Wait()
		<-room.Recovered()
		w.mu.Lock()
		w.places = 5
		w.mu.Unlock()
		w.clock.Advance(lastRetry)
		synctest.Wait()
		require.Len(t, names(t, room), 4, "what was left is made once there is room")
		crash()
	})
}

// TestUnreadableRunIsInTheWayOfItsOwnSchedule has the run of a tick that was not recorded not decode.
func TestUnreadableRunIsInTheWayOfItsOwnSchedule(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		id := hourly(t, w, journal.ScheduleSpec{})
		w.clock.Advance(time.Hour)
		w.fail = []failure{succeed, failBefore}
		require.Error(t, w.room(t.Context()).attempt(id, func() {}), "it was started, and that was not recorded")
		for name := range w.executions {
			w.damaged[name] = true
		}
		w.clock.Advance(time.Hour)
		room, crash := w.host(t.Context())
		room.EnsureInMemory(id)
		room.Scanned()
		<-room.Recovered() // its runs are known; the tick itself may still be at work
		synctest.Wait()
		crash()
		s, err := w.store.Schedule(t.Context(), id)
		require.NoError(t, err)
		require.EqualValues(t, 1, s.State.Ticks)
		require.Len(t, s.State.Open, 1)
		require.EqualValues(t, 1, s.State.Skipped, "it counts as one that is not over")
	})
}

// TestStuckSchedulesLeaveRoom has more schedules fail again and again than may be woken at once: the scan
// goes on to the schedules behind them.
func TestStuckSchedulesLeaveRoom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		room, end := w.host(t.Context())
		room.Declared = func(context.Context, string, string) ([]journal.Schedule, error) { return nil, errAway }
		for n := range maxWoken {
			marker := journal.Schedule{Namespace: "default", Name: fmt.Sprintf("d%d/", n), Version: 1}
			require.NoError(t, w.SaveSchedule(t.Context(), marker, 2*MaxSchedules))
			room.EnsureInMemory(marker.ID())
		}
		synctest.Wait()
		require.True(t, room.HasRoom())
		room.Scanned()
		<-room.Recovered()
		end()
	})
}
