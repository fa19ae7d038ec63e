package schedule

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cruster/cruster/journal"
)

// hourly makes a schedule with a tick an hour.
func hourly(t require.TestingT, w *world, spec journal.ScheduleSpec) journal.ID {
	spec.Workflow, spec.Cron = "a/B", "@hourly"
	s, err := w.room(context.Background()).Create(context.Background(), journal.Schedule{
		Namespace: "default", Name: "s", Spec: spec,
	})
	require.NoError(t, err)
	return s.ID()
}

// TestClockThatWasAhead has the clock years ahead while ticks are due, and set right again: the
// ticks between have their runs at their times, and started ticks do not come again.
func TestClockThatWasAhead(t *testing.T) {
	t.Parallel()
	for _, overlap := range []journal.Overlap{
		journal.OverlapSkip, journal.OverlapQueue, journal.OverlapCancel, journal.OverlapAllow,
	} {
		t.Run(string(overlap), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				id := hourly(t, w, journal.ScheduleSpec{CatchUp: int64(time.Hour), Overlap: overlap})
				before, crash := w.host(t.Context())
				w.clock.Advance(72*time.Hour + time.Minute)
				require.NoError(t, before.attempt(id, func() {}))
				w.endAll()
				synctest.Wait()
				early := w.count()
				require.NotZero(t, early)
				crash()

				w.clock.Advance(-72 * time.Hour)
				room, end := w.host(t.Context())
				defer end()
				room.Scanned() // no one else tells it
				synctest.Wait()
				for range 80 {
					w.clock.Advance(time.Hour)
					room.EnsureInMemory(id)
					synctest.Wait()
					w.endAll()
					synctest.Wait()
				}
				w.everyTickOnce(t, newYear, 80)
				s, err := w.store.Schedule(t.Context(), id)
				require.NoError(t, err)
				require.EqualValues(t, 80, s.State.Ticks, "each is counted once")
			})
		})
	}
}

// TestClockSetBackUnderARunningHost has the clock set back by days while the host runs.
func TestClockSetBackUnderARunningHost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		id := hourly(t, w, journal.ScheduleSpec{Overlap: journal.OverlapAllow})
		room, end := w.host(t.Context())
		defer end()
		room.Scanned()
		w.clock.Advance(72 * time.Hour)
		require.NoError(t, room.attempt(id, func() {}))
		synctest.Wait()
		w.clock.Advance(-72 * time.Hour)
		room.Scanned()
		synctest.Wait()
		s, err := w.store.Schedule(t.Context(), id)
		require.NoError(t, err)
		require.Equal(t, newYear.Add(time.Hour).UnixNano(), s.WakeAt)
	})
}

// TestAlwaysAfterAClockThatWasAhead has runs that follow each other begin and end in the future.
func TestAlwaysAfterAClockThatWasAhead(t *testing.T) {
	t.Parallel()
	for _, ended := range []bool{false, true} {
		t.Run(fmt.Sprintf("ended %v", ended), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.clock.Advance(72 * time.Hour)
				room, end := w.host(t.Context())
				defer end()
				s, err := room.Create(t.Context(), journal.Schedule{
					Namespace: "default", Name: "s", Spec: journal.ScheduleSpec{Workflow: "a/B", Always: true},
				})
				require.NoError(t, err)
				synctest.Wait()
				if ended {
					w.endAll()
					synctest.Wait()
				}
				w.clock.Advance(-72 * time.Hour)
				room.Scanned()
				synctest.Wait()
				w.endAll()
				synctest.Wait()
				w.clock.Advance(defaultRestartMin)
				require.NoError(t, room.attempt(s.ID(), func() {}))
				require.Equal(t, 2, w.count(), "the next run begins after the shortest pause")
			})
		})
	}
}

// TestClockIsSetAtRandom has the clock ahead now and then, hosts crash and stores fail: in the end each
// tick of the right time was started, once.
func TestClockIsSetAtRandom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { rapid.Check(struct{ rapid.TB }{t}, setClock) })
}

func setClock(t *rapid.T) {
	w := newWorld(t)
	id := hourly(t, w, journal.ScheduleSpec{
		CatchUp: int64(24 * time.Hour), Overlap: journal.OverlapAllow,
		Jitter: int64(rapid.SampledFrom([]time.Duration{0, 10 * time.Minute}).Draw(t, "jitter")),
	})
	room, crash := w.host(t.Context())
	defer func() { crash() }()
	passed, ahead := time.Duration(0), time.Duration(0)
	pass := func(d time.Duration) {
		passed += d
		w.clock.Advance(d)
	}
	for range rapid.IntRange(1, 40).Draw(t, "steps") {
		synctest.Wait()
		switch rapid.IntRange(0, 5).Draw(t, "step") {
		case 0:
			pass(time.Duration(rapid.IntRange(1, 60).Draw(t, "minutes")) * time.Minute)
		case 1:
			_ = room.attempt(id, func() {}) // it may fail
		case 2:
			w.endAll()
		case 3:
			w.mu.Lock()
			w.fail = rapid.SliceOfN(rapid.SampledFrom([]failure{succeed, failBefore, failAfter}), 0, 4).Draw(
				t, "failures",
			)
			w.mu.Unlock()
		case 4:
			crash()
			room, crash = w.host(t.Context())
		case 5: // it is set
			set := time.Duration(rapid.SampledFrom([]int{0, 0, 3, 30, 300}).Draw(t, "hours")) * time.Hour
			w.clock.Advance(set - ahead)
			ahead = set
		}
	}
	w.mu.Lock()
	w.fail = nil
	w.mu.Unlock()
	w.clock.Advance(-ahead)
	for range 5 { // as many as run at once, at a time
		synctest.Wait()
		require.NoError(t, room.attempt(id, func() {}))
		w.endAll()
	}
	s, err := w.store.Schedule(t.Context(), id)
	require.NoError(t, err)
	p, err := newPlan(s, w.clock.Now().UnixNano())
	require.NoError(t, err)
	due := 0
	for at := p.table.Next(newYear.UnixNano()); dueAt(s, p.table, at) <= p.now; at = p.table.Next(at) {
		due++
	}
	w.everyTickOnce(t, newYear, due)
	require.EqualValues(t, w.count(), s.State.Ticks, "each start is recorded, once")
}

// count is how many executions there are.
func (w *world) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.executions)
}

// endAll ends all runs.
func (w *world) endAll() {
	w.mu.Lock()
	running := w.runningLocked()
	w.mu.Unlock()
	for _, name := range running {
		w.end(name, journal.Completed)
	}
}

// everyTickOnce requires that each of the first n hourly ticks has been started once, and no tick twice.
func (w *world) everyTickOnce(t require.TestingT, from time.Time, n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	ticks := map[string]int{}
	for name, starts := range w.starts {
		require.Equal(t, 1, starts, name)
		ticks[strings.Split(name, "@")[1]]++
	}
	for i := 1; i <= n; i++ {
		at := from.Add(time.Duration(i) * time.Hour).Format(time.RFC3339)
		require.Equal(t, 1, ticks[at], "the tick of %s", at)
	}
}
