package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

var scheduleTests = []test{
	{"RoundTrip", nil, testScheduleRoundTrip},
	{"Versions", nil, testScheduleVersions},
	{"Fenced", nil, testScheduleFenced},
	{"Delete", nil, testScheduleDelete},
	{"TooMany", nil, testScheduleTooMany},
	{"TooManyAtOnce", nil, testScheduleTooManyAtOnce},
	{"List", nil, testScheduleList},
	{"Due", nil, testScheduleDue},
	{"OneOfManySaves", nil, testScheduleOneOfManySaves},
	{"Hostile", nil, testScheduleHostile},
	{"Survives", needsDurable, testScheduleSurvives},
}

// manySchedules is more than these tests make.
const manySchedules = 1000

// newSchedule is the first version of a schedule with every field set.
func newSchedule(namespace, name string) journal.Schedule {
	return journal.Schedule{
		Namespace: namespace, Name: name, Version: 1, WakeAt: 77, Input: abi.MustMarshal(map[string]any{"n": 1}),
		Spec: journal.ScheduleSpec{
			CatchUp:    1,
			Cron:       "0 4 * * *",
			Jitter:     2,
			MaxQueued:  3,
			MaxRuns:    4,
			NotBefore:  5,
			NotAfter:   6,
			Overlap:    journal.OverlapQueue,
			RestartMin: 7,
			RestartMax: 8,
			Workflow:   "orders/Process",
			Zone:       "Europe/Berlin",
		},
		State: journal.ScheduleState{
			Backfills:   []journal.Backfill{{Last: 1, To: 9, Overlap: journal.OverlapAllow}},
			CreatedAt:   1,
			Failures:    2,
			Incarnation: journal.RunID{1, 2},
			Last:        3,
			Next:        4,
			Note:        "über",
			Open:        []journal.OpenRun{{At: 1, Execution: "a/B/k", Interrupted: true}},
			Paused:      true,
			Recent: []journal.ScheduleRun{{
				At:        1,
				Cause:     journal.CauseTrigger,
				Count:     3,
				Done:      2,
				Error:     abi.Errorf(abi.CodeUnknownWorkflow, "gone"),
				Execution: "a/B/k",
				Outcome:   journal.OutcomeRefused,
				State:     journal.Failed,
			}},
			UpdatedAt: 5,
			Waiting:   []journal.WaitingStart{{At: 6, Cause: journal.CauseTick, Request: "r"}},
			Missed:    1,
			Refused:   2,
			Skipped:   3,
			Started:   4,
			Ticks:     5,
		},
	}
}

func (b *bundle) saveSchedule(s journal.Schedule, most int) error {
	return b.store.SaveSchedule(b.ctx, b.fences[s.ID().Shard()], s, most)
}

func testScheduleRoundTrip(t *testing.T, b *bundle) {
	want := newSchedule("default", "nightly")
	_, err := b.store.Schedule(b.ctx, want.ID())
	require.ErrorIs(t, err, journal.ErrNotFound)
	require.NoError(t, b.saveSchedule(want, manySchedules))
	got, err := b.store.Schedule(b.ctx, want.ID())
	require.NoError(t, err)
	require.Equal(t, &want, got)

	bare := journal.Schedule{Namespace: "default", Name: "bare", Version: 1}
	require.NoError(t, b.saveSchedule(bare, manySchedules))
	got, err = b.store.Schedule(b.ctx, bare.ID())
	require.NoError(t, err)
	require.Nil(t, got.Input)
	require.Empty(t, got.State.Open)
	require.Zero(t, got.WakeAt)
}

func testScheduleVersions(t *testing.T, b *bundle) {
	s := newSchedule("default", "nightly")
	skipped := s.Clone()
	skipped.Version = 2
	require.ErrorIs(t, b.saveSchedule(skipped, manySchedules), journal.ErrStale, "there is no version 1")
	require.NoError(t, b.saveSchedule(s, manySchedules))
	require.ErrorIs(t, b.saveSchedule(s, manySchedules), journal.ErrStale, "there is one")
	s.Version, s.WakeAt, s.Input, s.State.Note = 2, journal.Never, nil, "changed"
	require.NoError(t, b.saveSchedule(s, manySchedules))
	require.ErrorIs(t, b.saveSchedule(s, manySchedules), journal.ErrStale, "a save that is repeated takes effect once")
	got, err := b.store.Schedule(b.ctx, s.ID())
	require.NoError(t, err)
	require.Equal(t, &s, got)
}

func testScheduleFenced(t *testing.T, b *bundle) {
	s, old := newSchedule("default", "nightly"), b.fences
	b.claim(t, "second")
	require.ErrorIs(t, b.store.SaveSchedule(b.ctx, old[s.ID().Shard()], s, manySchedules), journal.ErrFenced)
	_, err := b.store.Schedule(b.ctx, s.ID())
	require.ErrorIs(t, err, journal.ErrNotFound)
	require.NoError(t, b.saveSchedule(s, manySchedules))
	changed := s.Clone()
	changed.Version = 2
	require.ErrorIs(t, b.store.SaveSchedule(b.ctx, old[s.ID().Shard()], changed, manySchedules), journal.ErrFenced)
	require.ErrorIs(t, b.store.DeleteSchedule(b.ctx, old[s.ID().Shard()], s.ID(), 1), journal.ErrFenced)
	got, err := b.store.Schedule(b.ctx, s.ID())
	require.NoError(t, err)
	require.Equal(t, &s, got)
}

func testScheduleDelete(t *testing.T, b *bundle) {
	s, other := newSchedule("default", "nightly"), newSchedule("other", "nightly")
	require.NoError(t, b.saveSchedule(s, manySchedules))
	require.NoError(t, b.saveSchedule(other, manySchedules))
	fence := b.fences[s.ID().Shard()]
	require.ErrorIs(t, b.store.DeleteSchedule(b.ctx, fence, s.ID(), 2), journal.ErrStale)
	require.NoError(t, b.store.DeleteSchedule(b.ctx, fence, s.ID(), 1))
	require.ErrorIs(t, b.store.DeleteSchedule(b.ctx, fence, s.ID(), 1), journal.ErrStale)
	_, err := b.store.Schedule(b.ctx, s.ID())
	require.ErrorIs(t, err, journal.ErrNotFound)
	_, err = b.store.Schedule(b.ctx, other.ID())
	require.NoError(t, err)
	due, err := b.store.DueSchedules(b.ctx, journal.Never, journal.Wake{}, 10)
	require.NoError(t, err)
	require.Equal(t, []journal.Wake{{ID: other.ID(), At: 77}}, due)
	require.NoError(t, b.saveSchedule(s, manySchedules), "the name can be used again")
}

func testScheduleTooMany(t *testing.T, b *bundle) {
	for _, name := range []string{"a", "b"} {
		require.NoError(t, b.saveSchedule(newSchedule("default", name), 2))
	}
	require.ErrorIs(t, b.saveSchedule(newSchedule("default", "c"), 2), journal.ErrTooMany)
	require.NoError(t, b.saveSchedule(newSchedule("other", "c"), 2), "each namespace counts for itself")
	again := newSchedule("default", "a")
	again.Version = 2
	require.NoError(t, b.saveSchedule(again, 2), "one that is there can be changed")
}

func testScheduleTooManyAtOnce(t *testing.T, b *bundle) {
	const tried, most = 20, 5
	var group errgroup.Group
	saved := make(chan struct{}, tried)
	for i := range tried {
		group.Go(func() error {
			err := b.saveSchedule(newSchedule("default", fmt.Sprint(i)), most)
			if errors.Is(err, journal.ErrTooMany) {
				return nil
			}
			saved <- struct{}{}
			return err
		})
	}
	require.NoError(t, group.Wait())
	require.Len(t, saved, most)
}

func testScheduleList(t *testing.T, b *bundle) {
	for _, name := range []string{"b", "a", "Z", "ä", "a-1"} {
		require.NoError(t, b.saveSchedule(newSchedule("default", name), manySchedules))
	}
	require.NoError(t, b.saveSchedule(newSchedule("other", "c"), manySchedules))
	names := func(after string, limit int) (names []string) {
		page, err := b.store.Schedules(b.ctx, "default", after, limit)
		require.NoError(t, err)
		for _, s := range page {
			names = append(names, s.Name)
			want := newSchedule("default", s.Name)
			want.Input = nil
			require.Equal(t, want, s)
		}
		return names
	}
	require.Equal(t, []string{"Z", "a", "a-1", "b", "ä"}, names("", 10))
	require.Equal(t, []string{"a", "a-1"}, names("Z", 2))
	require.Equal(t, []string{"ä"}, names("b", 2))
	require.Empty(t, names("ä", 2))
	require.Empty(t, names("", 0))
}

func testScheduleDue(t *testing.T, b *bundle) {
	at := map[string]int64{"now": journal.Now, "never": journal.Never, "x": 10, "y": 10, "later": 20}
	var ten []journal.ID
	for name, wake := range at {
		s := newSchedule("default", name)
		s.WakeAt = wake
		require.NoError(t, b.saveSchedule(s, manySchedules))
		if wake == 10 {
			ten = append(ten, s.ID())
		}
	}
	if bytes.Compare(ten[0][:], ten[1][:]) > 0 {
		ten[0], ten[1] = ten[1], ten[0]
	}
	now, later := journal.Wake{ID: journal.ScheduleID("default", "now")}, journal.Wake{
		ID: journal.ScheduleID("default", "later"), At: 20,
	}
	want := []journal.Wake{now, {ID: ten[0], At: 10}, {ID: ten[1], At: 10}, later}
	due := func(until int64, after journal.Wake, limit int) []journal.Wake {
		page, err := b.store.DueSchedules(b.ctx, until, after, limit)
		require.NoError(t, err)
		return page
	}
	require.Equal(t, want, due(20, journal.Wake{}, 10))
	require.Equal(t, want[:3], due(19, journal.Wake{}, 10))
	require.Equal(t, want[:2], due(20, journal.Wake{}, 2))
	require.Equal(t, want[2:], due(20, want[1], 10))
	require.Empty(t, due(-1, journal.Wake{}, 10))
}

// testScheduleOneOfManySaves has many writers save the same version: one gets through.
func testScheduleOneOfManySaves(t *testing.T, b *bundle) {
	require.NoError(t, b.saveSchedule(newSchedule("default", "a"), manySchedules))
	var group errgroup.Group
	saved := make(chan string, 10)
	for i := range cap(saved) {
		group.Go(func() error {
			s := newSchedule("default", "a")
			s.Version, s.State.Note = 2, fmt.Sprint(i)
			err := b.saveSchedule(s, manySchedules)
			if errors.Is(err, journal.ErrStale) {
				return nil
			}
			saved <- s.State.Note
			return err
		})
	}
	require.NoError(t, group.Wait())
	require.Len(t, saved, 1)
	got, err := b.store.Schedule(b.ctx, journal.ScheduleID("default", "a"))
	require.NoError(t, err)
	require.Equal(t, <-saved, got.State.Note)
}

func testScheduleHostile(t *testing.T, b *bundle) {
	for _, name := range []string{"'; DROP TABLE cruster_schedules; --", "%", "a/b", "\u202e"} {
		s := newSchedule("default", name)
		require.NoError(t, b.saveSchedule(s, manySchedules), "%q", name)
		got, err := b.store.Schedule(b.ctx, s.ID())
		require.NoError(t, err)
		require.Equal(t, &s, got)
	}
	page, err := b.store.Schedules(b.ctx, "default", "", 100)
	require.NoError(t, err)
	require.Len(t, page, 4)
}

func testScheduleSurvives(t *testing.T, b *bundle) {
	want := newSchedule("default", "nightly")
	require.NoError(t, b.saveSchedule(want, manySchedules))
	require.NoError(t, b.store.Close())
	b.open(t)
	got, err := b.store.Schedule(b.ctx, want.ID())
	require.NoError(t, err)
	require.Equal(t, &want, got)
}
