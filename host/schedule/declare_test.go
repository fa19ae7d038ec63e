package schedule

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// declaring is a module with schedules, by name and cron expression.
func declaring(t *testing.T, schedules map[string]string) (declared []journal.Schedule) {
	m := &abi.Manifest{Workflows: []abi.WorkflowInfo{{Name: "B"}}}
	for name, cron := range schedules {
		s, err := Declared("default", "a", m, &abi.ScheduleInfo{Name: name, Workflow: "B", Cron: cron, Input: abi.Nil})
		require.NoError(t, err)
		declared = append(declared, s)
	}
	return declared
}

func names(t *testing.T, room *Schedules) (names []string) {
	list, err := room.List(t.Context(), "default", "", 2)
	for err == nil && len(list) > 0 {
		for i := range list {
			names = append(names, list[i].Name+" "+list[i].Spec.Cron)
		}
		list, err = room.List(t.Context(), "default", list[len(list)-1].Name, 2)
	}
	require.NoError(t, err)
	slices.Sort(names)
	return names
}

// TestDeclared has pushes declare schedules: schedules no longer declared go, and schedules made by
// people are not touched, though their names are much the same.
func TestDeclared(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		room, crash := w.host(t.Context())
		defer crash()
		for _, name := range []string{"a", "a.x", "a-x", "a0", "b"} {
			_, err := room.Create(t.Context(), journal.Schedule{
				Namespace: "default", Name: name, Spec: journal.ScheduleSpec{Workflow: "a/B", Cron: "@yearly"},
			})
			require.NoError(t, err)
		}
		push := func(schedules map[string]string) {
			d := room.Declare("default", "a")
			defer d.Release()
			require.NoError(t, d.Begin(t.Context(), declaring(t, schedules)))
			require.NoError(t, d.Finish(t.Context()))
		}
		others := []string{"a @yearly", "a-x @yearly", "a.x @yearly", "a0 @yearly", "b @yearly"}
		expect := func(declared ...string) {
			t.Helper()
			want := append(slices.Clone(others), declared...)
			slices.Sort(want)
			require.Equal(t, want, names(t, room))
		}
		push(map[string]string{"hourly": "@hourly", "nightly": "0 3 * * *"})
		expect("a/hourly @hourly", "a/nightly 0 3 * * *")
		_, err := room.Describe(t.Context(), "default", "hourly", 0)
		require.EqualError(t, err, `CR-2051: there is no schedule "hourly"; did you mean "a/hourly"?`)
		_, err = room.Pause(t.Context(), "default", "nigthly", "later")
		require.EqualError(t, err, `CR-2051: there is no schedule "nigthly"; did you mean "a/nightly"?`)
		_, err = room.Pause(t.Context(), "default", "a/nightly", "later")
		require.NoError(t, err)
		push(map[string]string{"hourly": "@hourly", "nightly": "30 3 * * *"})
		expect("a/hourly @hourly", "a/nightly 30 3 * * *")
		d, err := room.Describe(t.Context(), "default", "a/nightly", 0)
		require.NoError(t, err)
		require.True(t, d.State.Paused, "a push does not resume it")

		w.clock.Advance(time.Hour)
		room.EnsureInMemory(journal.ScheduleID("default", "a/hourly"))
		synctest.Wait()
		require.Len(t, w.starts, 1, "it ticks")
		_, err = room.Trigger(t.Context(), "default", "a/nightly", "now")
		require.NoError(t, err)
		for _, err := range []error{
			room.Delete(t.Context(), "default", "a/hourly"),
			second(room.Update(t.Context(), journal.Schedule{
				Namespace: "default", Name: "a/hourly", Spec: journal.ScheduleSpec{Workflow: "a/B", Cron: "@daily"},
			})),
			second(room.Create(t.Context(), journal.Schedule{
				Namespace: "default", Name: "a/mine", Spec: journal.ScheduleSpec{Workflow: "a/B", Cron: "@daily"},
			})),
		} {
			require.Equal(t, abi.CodeBadSchedule, abi.CodeOf(err))
		}
		push(nil)
		expect()
		_, err = w.store.Schedule(t.Context(), journal.ScheduleID("default", "a/"))
		require.ErrorIs(t, err, journal.ErrNotFound, "nothing is left to do")
	})
}

func second[T any](_ T, err error) error { return err }

// TestDeclaredAfterACrash has a host crash before and after each write of a push; the next one
// brings the schedules to the declarations of the deployed module.
func TestDeclaredAfterACrash(t *testing.T) {
	t.Parallel()
	for at := range 8 {
		for _, how := range []failure{failBefore, failAfter} {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				var deployed []journal.Schedule
				boot := func() (*Schedules, func()) {
					room, crash := w.host(t.Context())
					room.Declared = func(context.Context, string, string) ([]journal.Schedule, error) {
						return deployed, nil
					}
					return room, crash
				}
				room, crash := boot()
				push := func(schedules map[string]string) error {
					d := room.Declare("default", "a")
					if err := d.Begin(t.Context(), declaring(t, schedules)); err != nil {
						return err
					}
					deployed = declaring(t, schedules)
					return d.Finish(t.Context()) // and the process is gone: nothing is released
				}
				require.NoError(t, push(map[string]string{"x": "@hourly", "y": "@hourly"}))
				crash()
				room, crash = boot()
				w.mu.Lock()
				w.fail = append(make([]failure, at), how)
				w.mu.Unlock()
				_ = push(map[string]string{"y": "@daily", "z": "@daily"})
				crash()
				w.mu.Lock()
				w.fail = nil
				w.mu.Unlock()

				room, crash = boot()
				defer crash()
				due, err := w.store.DueSchedules(t.Context(), w.clock.Now().UnixNano(), journal.Wake{}, 100)
				require.NoError(t, err)
				for _, wake := range due {
					room.EnsureInMemory(wake.ID)
				}
				synctest.Wait()
				var want []string
				for _, s := range deployed {
					want = append(want, s.Name+" "+s.Spec.Cron)
				}
				slices.Sort(want)
				require.Equal(t, want, names(t, room))
			})
		}
	}
}

func TestDeclaredRefusals(t *testing.T) {
	t.Parallel()
	m := &abi.Manifest{Workflows: []abi.WorkflowInfo{{Name: "B", Input: &abi.Schema{Type: abi.TypeInt}}}}
	for name, c := range map[string]struct {
		info abi.ScheduleInfo
		code abi.Code
	}{
		"no times": {abi.ScheduleInfo{Name: "x", Workflow: "B", Input: abi.MustMarshal(1)}, abi.CodeBadSchedule},
		"bad cron": {
			abi.ScheduleInfo{Name: "x", Workflow: "B", Input: abi.MustMarshal(1), Cron: "61 * * * *"},
			abi.CodeBadSchedule,
		},
		"bad zone": {
			abi.ScheduleInfo{Name: "x", Workflow: "B", Input: abi.MustMarshal(1), Cron: "@daily", Zone: "Mars/Olympus"},
			abi.CodeBadSchedule,
		},
		"bad name": {
			abi.ScheduleInfo{Name: "x/y", Workflow: "B", Input: abi.MustMarshal(1), Cron: "@daily"},
			abi.CodeBadSchedule,
		},
		"no workflow": {abi.ScheduleInfo{Name: "x", Workflow: "C", Cron: "@daily"}, abi.CodeBadManifest},
		"bad input": {
			abi.ScheduleInfo{Name: "x", Workflow: "B", Input: abi.MustMarshal("one"), Cron: "@daily"}, abi.CodeBadInput,
		},
	} {
		_, err := Declared("default", "a", m, &c.info)
		require.Equal(t, c.code, abi.CodeOf(err), "%s: %v", name, err)
	}
}
