package schedule

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/journal"
)

// TestUpdateKeepsBackfills has people change the times of a schedule while a backfill is not done: all ticks that it
// was asked for are started, whatever the schedule has become.
func TestUpdateKeepsBackfills(t *testing.T) {
	t.Parallel()
	for name, changed := range map[string]journal.ScheduleSpec{
		"other times": {Workflow: "a/B", Cron: "30 3 * * *"},
		"an interval": {Workflow: "a/B", Every: int64(7 * 24 * time.Hour)},
		"always":      {Workflow: "a/B", Always: true},
		"a bound":     {Workflow: "a/B", Cron: "@hourly", NotBefore: newYear.Add(1000 * time.Hour).UnixNano()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				room, crash := w.host(t.Context())
				defer crash()
				_, err := room.Create(t.Context(), journal.Schedule{
					Namespace: "default", Name: "s", Spec: journal.ScheduleSpec{Workflow: "a/B", Cron: "@hourly"},
				})
				require.NoError(t, err)
				to := newYear.Add(-time.Hour)
				ticks, err := room.Backfill(
					t.Context(), "default", "s", to.Add(-4*time.Hour).UnixNano(), to.UnixNano(), journal.OverlapQueue,
				)
				require.NoError(t, err)
				require.Equal(t, 5, ticks)
				_, err = room.Update(t.Context(), journal.Schedule{Namespace: "default", Name: "s", Spec: changed})
				require.NoError(t, err)
				for range 5 {
					synctest.Wait()
					w.mu.Lock()
					running := w.runningLocked()
					w.mu.Unlock()
					require.Len(t, running, 1)
					w.end(running[0], journal.Completed)
				}
				synctest.Wait()
				s, err := w.store.Schedule(t.Context(), journal.ScheduleID("default", "s"))
				require.NoError(t, err)
				require.EqualValues(t, 5, s.State.Started)
				require.Empty(t, s.State.Backfills)
			})
		})
	}
}

// TestUpdateTimes has a schedule that ran always, and a schedule due in a year, tick by their
// changed times.
func TestUpdateTimes(t *testing.T) {
	t.Parallel()
	for name, before := range map[string]journal.ScheduleSpec{
		"always": {Workflow: "a/B", Always: true},
		"rare":   {Workflow: "a/B", Cron: "@yearly"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				room, crash := w.host(t.Context())
				defer crash()
				_, err := room.Create(t.Context(), journal.Schedule{
					Namespace: "default", Name: "s", Spec: before, State: journal.ScheduleState{Paused: true},
				})
				require.NoError(t, err)
				_, err = room.Resume(t.Context(), "default", "s", "")
				require.NoError(t, err)
				synctest.Wait()
				s, err := room.Update(t.Context(), journal.Schedule{
					Namespace: "default", Name: "s", Spec: journal.ScheduleSpec{Workflow: "a/B", Cron: "@hourly"},
				})
				require.NoError(t, err)
				require.Equal(
					t, newYear.Add(time.Hour).UnixNano(), s.WakeAt, "a host that knows nothing of it looks then",
				)
				w.mu.Lock()
				defer w.mu.Unlock()
				require.Equal(t, s.WakeAt, w.left[s.ID()], "and so does this one")
			})
		})
	}
}
