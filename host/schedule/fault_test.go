package schedule

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// panicking starts nothing for one schedule, and panics instead.
type panicking struct{ *world }

func (p panicking) Start(
	ctx context.Context, namespace, workflow, key string, input []byte,
) (*journal.Execution, bool, error) {
	if key[0] == 'b' {
		panic("of the host")
	}
	return p.world.Start(ctx, namespace, workflow, key, input)
}

// TestPanicPausesOneSchedule has the host panic whenever it starts a run of one schedule. That one is paused and says
// why; it goes on once it is resumed, and another never notices.
func TestPanicPausesOneSchedule(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		room, crash := w.host(t.Context())
		defer crash()
		room.Starter = panicking{w}
		for _, name := range []string{"bad", "good"} {
			_, err := room.Create(t.Context(), journal.Schedule{
				Namespace: "default", Name: name, Spec: journal.ScheduleSpec{Workflow: "a/B", Cron: "@hourly"},
			})
			require.NoError(t, err)
		}
		tick := func() {
			w.clock.Advance(time.Hour)
			for _, name := range []string{"bad", "good"} {
				room.EnsureInMemory(journal.ScheduleID("default", name))
			}
			synctest.Wait()
		}
		tick()
		bad, err := w.store.Schedule(t.Context(), journal.ScheduleID("default", "bad"))
		require.NoError(t, err)
		require.True(t, bad.State.Paused)
		require.Equal(t, journal.Never, bad.WakeAt, "no scan finds it")
		require.Contains(t, bad.State.Note, string(abi.CodeHostFault))
		require.Contains(t, bad.State.Note, "of the host")
		require.Len(t, w.starts, 1, "the other has started")

		room.Starter = w // the fault is fixed
		_, err = room.Resume(t.Context(), "default", "bad", "")
		require.NoError(t, err)
		tick()
		bad, err = w.store.Schedule(t.Context(), journal.ScheduleID("default", "bad"))
		require.NoError(t, err)
		require.EqualValues(t, 1, bad.State.Started)
	})
}
