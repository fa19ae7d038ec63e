package timer

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cruster/cruster/journal"
)

// TestModel holds the heap against a plain map: after any sequence of settings the same executions are due, in the
// order of their times.
func TestModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		clock := clockwork.NewFakeClockAt(time.Unix(0, 0))
		timers := New(clock, nil, nil)
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
				due, _, next := timers.popDue()
				var want []journal.ID
				for id, at := range model {
					if at <= now {
						want = append(want, id)
					}
				}
				require.ElementsMatch(t, want, due)
				require.True(
					t, slices.IsSortedFunc(due, func(a, b journal.ID) int { return cmp.Compare(before[a], before[b]) }),
					"the earliest comes first",
				)
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
		timers := New(clockwork.NewRealClock(), func(id journal.ID) { fired <- id }, nil)
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

// stepped is a wall clock that can be set, in virtual time. Timers go on as they were, as on a real machine:
// they do not know the wall clock.
type stepped struct {
	clockwork.Clock
	offset atomic.Int64
}

func (c *stepped) Now() time.Time { return c.Clock.Now().Round(0).Add(time.Duration(c.offset.Load())) }

func (c *stepped) step(d time.Duration) { c.offset.Add(int64(d)) }

// TestStepOfTheClock sets the wall clock while timers wait. Overdue timers fire soon, and a fresh timer does not wait
// for timers that were set before.
func TestStepOfTheClock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		clock := &stepped{Clock: clockwork.NewRealClock()}
		fired := make(chan journal.ID, 10)
		timers := New(clock, func(id journal.ID) { fired <- id }, nil)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); timers.Run(ctx) }()
		in := func(d time.Duration) int64 { return clock.Now().Add(d).UnixNano() }

		timers.Set(journal.ID{1}, in(30*time.Second))
		timers.Set(journal.ID{2}, in(time.Hour))
		synctest.Wait()
		clock.step(2 * time.Minute)
		start := time.Now()
		timers.Set(journal.ID{3}, in(time.Second))
		require.Equal(t, journal.ID{1}, <-fired, "it is overdue")
		require.Equal(t, journal.ID{3}, <-fired)
		require.Equal(t, time.Second, time.Since(start), "a sleep of a second takes a second")

		clock.step(2 * time.Hour) // nothing is set meanwhile: a suspended machine
		start = time.Now()
		require.Equal(t, journal.ID{2}, <-fired)
		require.LessOrEqual(t, time.Since(start), recheck)

		timers.Set(journal.ID{4}, in(time.Minute))
		synctest.Wait()
		clock.step(-30 * time.Second)
		start = time.Now()
		require.Equal(t, journal.ID{4}, <-fired)
		require.Equal(t, 90*time.Second, time.Since(start), "by the wall clock, no earlier")
		cancel()
		<-done
		require.Empty(t, fired)
	})
}

// TestIdleHeapSleeps counts how often a heap looks at the clock: not at all without timers, once in a while with any
// number of them.
func TestIdleHeapSleeps(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		clock := &counting{Clock: clockwork.NewRealClock()}
		timers := New(clock, func(journal.ID) {}, nil)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go timers.Run(ctx)
		synctest.Wait()
		clock.looks.Store(0)
		time.Sleep(24 * time.Hour)
		require.LessOrEqual(t, clock.looks.Load(), int64(24), "there are no timers")
		for n := range byte(200) {
			timers.Set(journal.ID{n}, time.Now().Add(48*time.Hour).UnixNano())
		}
		clock.looks.Store(0)
		time.Sleep(time.Hour)
		require.LessOrEqual(t, clock.looks.Load(), int64(time.Hour/recheck)+2)
	})
}

type counting struct {
	clockwork.Clock
	looks atomic.Int64
}

func (c *counting) Now() time.Time {
	c.looks.Add(1)
	return c.Clock.Now()
}

// action is one thing that happens in TestSteps.
type action struct {
	what string
	by   time.Duration
}

// TestSteps holds the heap against a model while the wall clock is set at random, in both directions: a little after
// each action exactly those have fired whose time the wall clock has shown since they were set.
func TestSteps(t *testing.T) {
	t.Parallel()
	seconds := func(from, to int64) *rapid.Generator[time.Duration] {
		return rapid.Map(rapid.Int64Range(from, to), func(n int64) time.Duration {
			return time.Duration(n) * time.Second
		})
	}
	actions := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) action {
		switch rapid.IntRange(0, 2).Draw(t, "what") {
		case 0:
			return action{"set", seconds(0, 300).Draw(t, "in")}
		case 1:
			return action{"step", seconds(-600, 600).Draw(t, "by")}
		default:
			return action{"pass", seconds(0, 200).Draw(t, "time")}
		}
	}), 1, 40)
	rapid.Check(t, func(rt *rapid.T) {
		script := actions.Draw(rt, "script")
		var wrong string
		synctest.Test(t, func(t *testing.T) { wrong = differs(t.Context(), script) })
		require.Empty(rt, wrong)
	})
}

// differs runs a script and says where the heap differs from the model.
func differs(ctx context.Context, script []action) (wrong string) {
	clock := &stepped{Clock: clockwork.NewRealClock()}
	var mu sync.Mutex
	rang := map[journal.ID]bool{} // guarded by mu
	timers := New(clock, func(id journal.ID) {
		mu.Lock()
		defer mu.Unlock()
		rang[id] = true
	}, nil)
	fired := func(id journal.ID) bool {
		mu.Lock()
		defer mu.Unlock()
		return rang[id]
	}
	ctx, cancel := context.WithCancel(ctx)
	go timers.Run(ctx)
	synctest.Wait()
	waiting := map[journal.ID]int64{} // the model: when each is due
	for n, a := range script {
		switch a.what {
		case "set":
			id := journal.ID{byte(n)}
			waiting[id] = clock.Now().Add(a.by).UnixNano()
			timers.Set(id, waiting[id])
		case "step":
			clock.step(a.by)
		default:
			time.Sleep(a.by)
		}
		time.Sleep(recheck)
		synctest.Wait()
		for id, at := range waiting {
			due := at <= clock.Now().UnixNano()
			if due != fired(id) {
				wrong = fmt.Sprintf("after action %d timer %d is due: %v, but fired: %v", n, id[0], due, fired(id))
			}
			if due {
				delete(waiting, id)
			}
		}
	}
	cancel()
	synctest.Wait()
	return wrong
}

// TestSoon: an execution is announced once, a little before its time, unless that is so near already; and it is
// announced again if its time changes.
func TestSoon(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		at := func(d time.Duration) int64 { return begin.Add(d).UnixNano() }
		var told []string
		note := func(what string) func(journal.ID) {
			return func(id journal.ID) { told = append(told, fmt.Sprint(time.Since(begin), " ", what, " ", id[0])) }
		}
		timers := New(clockwork.NewRealClock(), note("fire"), note("soon"))
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go timers.Run(ctx)
		timers.Set(journal.ID{1}, at(time.Second))
		timers.Set(journal.ID{2}, at(Ahead))
		timers.Set(journal.ID{3}, at(3*time.Second))
		timers.Set(journal.ID{4}, at(time.Hour))
		time.Sleep(time.Second - Ahead + time.Millisecond)
		timers.Set(journal.ID{1}, at(time.Second)) // as it does when it was announced
		timers.Set(journal.ID{3}, at(2*time.Second))
		timers.Set(journal.ID{4}, journal.Never)
		time.Sleep(2*time.Second - 2*time.Millisecond - time.Since(begin))
		timers.Set(journal.ID{3}, at(4*time.Second))
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Equal(t, []string{
			"25ms fire 2",
			"975ms soon 1", "1s fire 1",
			"1.975s soon 3", "3.975s soon 3", "4s fire 3",
		}, told)
	})
}

// TestWhatIsDueComesFirst: an announcement does not coincide with a time that has come.
func TestWhatIsDueComesFirst(t *testing.T) {
	t.Parallel()
	clock := clockwork.NewFakeClockAt(time.Unix(0, 0))
	timers := New(clock, nil, func(journal.ID) {})
	second := int64(time.Second)
	timers.Set(journal.ID{1}, second)
	timers.Set(journal.ID{2}, second+int64(Ahead))
	clock.Advance(time.Second - Ahead)
	_, soon, _ := timers.popDue()
	require.Equal(t, []journal.ID{{1}}, soon)
	clock.Advance(Ahead)
	due, soon, next := timers.popDue()
	require.Equal(t, []journal.ID{{1}}, due)
	require.Empty(t, soon)
	require.Equal(t, quietPeriod, next)
	clock.Advance(quietPeriod)
	_, soon, _ = timers.popDue()
	require.Equal(t, []journal.ID{{2}}, soon)
}

// TestManyAtOnceAreAnnouncedEarlier: executions that are due together are announced one after the other, so that there
// is time to bring in all of them, and fired together.
func TestManyAtOnceAreAnnouncedEarlier(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		const many = 3000
		soon, fired := map[time.Duration]int{}, map[time.Duration]int{}
		timers := New(clockwork.NewRealClock(),
			func(journal.ID) { fired[time.Since(begin)]++ }, func(journal.ID) { soon[time.Since(begin)]++ })
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go timers.Run(ctx)
		for n := range many {
			timers.Set(journal.ID{byte(n >> 8), byte(n), 1}, begin.Add(time.Minute).UnixNano())
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		require.Equal(t, map[time.Duration]int{time.Minute: many}, fired)
		steps := int((MaxLead - Ahead) / spacing)
		require.Len(t, soon, steps+1)
		require.Equal(t, many-steps, soon[time.Minute-MaxLead])
		for n := range steps {
			require.Equal(t, 1, soon[time.Minute-Ahead-time.Duration(n)*spacing])
		}
		require.Empty(t, timers.slots)
	})
}

// TestAwayWhenItWasSoon: a host that was away fires the passed times, in the order of the times, and announces none of
// them.
func TestAwayWhenItWasSoon(t *testing.T) {
	t.Parallel()
	clock := clockwork.NewFakeClockAt(time.Unix(0, 0))
	timers := New(clock, nil, func(journal.ID) {})
	timers.Set(journal.ID{1}, int64(Ahead)) // too near to be announced
	timers.Set(journal.ID{2}, int64(Ahead)+1)
	clock.Advance(time.Second)
	due, soon, _ := timers.popDue()
	require.Equal(t, []journal.ID{{1}, {2}}, due)
	require.Empty(t, soon)
}
