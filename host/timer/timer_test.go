package timer

import (
	"cmp"
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cruster/cruster/journal"
)

// TestModel holds the heap against a plain map: after any sequence of
// settings the same executions are due, in the order of their times.
func TestModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		clock := clockwork.NewFakeClockAt(time.Unix(0, 0))
		timers := New(clock, nil)
		model := map[journal.ID]int64{}
		id := rapid.Custom(func(t *rapid.T) journal.ID { return journal.ID{rapid.ByteRange(1, 12).Draw(t, "id")} })
		t.Repeat(map[string]func(*rapid.T){
			"set": func(t *rapid.T) {
				id, at := id.Draw(t, "of"), rapid.Int64Range(1, 1000).Draw(t, "at")
				timers.Set(id, at)
				model[id] = at
			},
			"take out": func(t *rapid.T) {
				id := id.Draw(t, "of")
				timers.Set(id, journal.Never)
				delete(model, id)
			},
			"let time pass": func(t *rapid.T) {
				clock.Advance(time.Duration(rapid.Int64Range(0, 200).Draw(t, "by")))
				now := clock.Now().UnixNano()
				before := timesOf(timers)
				due, next := timers.popDue()
				var want []journal.ID
				for id, at := range model {
					if at <= now {
						want = append(want, id)
					}
				}
				require.ElementsMatch(t, want, due)
				require.True(t, slices.IsSortedFunc(due, func(a, b journal.ID) int { return cmp.Compare(before[a], before[b]) }), "the earliest comes first")
				earliest := journal.Never
				for _, id := range due {
					delete(model, id)
				}
				for _, at := range model {
					earliest = min(earliest, at)
				}
				if earliest == journal.Never {
					require.Equal(t, idleWait, next)
				} else {
					require.Equal(t, time.Duration(earliest-now), next)
				}
			},
			"": func(t *rapid.T) {
				require.Equal(t, model, timesOf(timers))
				for id := range model {
					require.True(t, timers.Has(id))
				}
			},
		})
	})
}

func timesOf(h *Heap) map[journal.ID]int64 {
	out := map[journal.ID]int64{}
	for id, item := range h.byID {
		out[id] = item.at
	}
	return out
}

// TestRun fires in virtual time.
func TestRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		fired := make(chan journal.ID, 10)
		timers := New(clockwork.NewRealClock(), func(id journal.ID) { fired <- id })
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); timers.Run(ctx) }()
		at := func(d time.Duration) int64 { return start.Add(d).UnixNano() }

		timers.Set(journal.ID{1}, at(3*time.Hour))
		timers.Set(journal.ID{2}, at(2*time.Hour))
		timers.Set(journal.ID{3}, at(time.Minute))
		timers.Set(journal.ID{3}, journal.Never)
		timers.Set(journal.ID{4}, at(-time.Hour))
		require.Equal(t, journal.ID{4}, <-fired, "what is overdue fires at once")
		require.Zero(t, time.Since(start))
		timers.Set(journal.ID{1}, at(time.Hour)) // earlier than before, and the first now
		require.Equal(t, journal.ID{1}, <-fired)
		require.Equal(t, time.Hour, time.Since(start))
		require.Equal(t, journal.ID{2}, <-fired)
		require.Equal(t, 2*time.Hour, time.Since(start))
		require.False(t, timers.Has(journal.ID{3}))
		cancel()
		<-done
		require.Empty(t, fired)
	})
}
