package host_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host"
	"github.com/cruster/cruster/host/faultpoint"
	"github.com/cruster/cruster/host/wasm"
	"github.com/cruster/cruster/host/wasm/binary/wasmtest"
	"github.com/cruster/cruster/internal/extenttest"
	"github.com/cruster/cruster/internal/harness"
	"github.com/cruster/cruster/internal/undertest"
	"github.com/cruster/cruster/journal"
)

// quick is a module whose workflow W ends at once, gated one whose W waits for the deferred "gate".
var (
	manifestOfW = &abi.Manifest{Workflows: []abi.WorkflowInfo{{Name: "W", Key: abi.KeyFromRequest}}}
	quick       = wasmtest.Program{Manifest: manifestOfW, Outcome: &abi.Outcome{Value: abi.Nil}}.Assemble()
	gated       = wasmtest.Program{
		Manifest: manifestOfW,
		Calls:    []wasmtest.ImportCall{{Import: abi.OpDeferred, Body: abi.MustMarshal(&abi.Deferred{Name: "gate"})}},
	}.Assemble()
)

// scheduled is a store with schedules, a clock that a test moves, and the engine that runs them: one after the other,
// if they crash.
type scheduled struct {
	t       *testing.T
	clock   *clockwork.FakeClock
	runtime *wasm.Runtime
	store   journal.Store
	options []func(*host.Config)

	mu     sync.Mutex
	passed map[string]int      // guarded by mu, like all below
	crash  *faultpoint.Passing // where the engine crashes, once
	died   chan struct{}       // closed when it has
	e      *host.Engine
}

// halfPast is when these tests begin.
var halfPast = time.Date(2026, 1, 1, 0, 30, 0, 0, time.UTC)

func newScheduled(t *testing.T, store journal.Store, options ...func(*host.Config)) *scheduled {
	rt, err := wasm.New(t.Context(), wasm.Config{CacheDir: harness.CacheDir(t), Logger: harness.Logger(t)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, rt.Close(context.Background())) })
	w := &scheduled{
		t:       t,
		clock:   clockwork.NewFakeClockAt(halfPast),
		runtime: rt,
		store:   store,
		passed:  map[string]int{},
		options: options,
	}
	w.launch()
	for name, binary := range map[string][]byte{"quick": quick, "gated": gated} {
		_, err := w.e.Deployments().Push(t.Context(), host.PushRequest{Name: name, Binary: binary})
		require.NoError(t, err)
	}
	return w
}

// launch starts the next engine.
func (w *scheduled) launch() {
	died := make(chan struct{})
	var e *host.Engine
	cfg := host.Config{
		Store:        w.store,
		Logger:       harness.Logger(w.t),
		Clock:        w.clock,
		Runtime:      w.runtime,
		DrainTimeout: time.Second,
		TurnTimeout:  time.Hour,
		UnderTest: &undertest.Options{FaultPoint: func(point string) {
			select {
			case <-died:
			default:
				if !w.pass(point) {
					return
				}
				e.Kill()
				close(died)
			}
			runtime.Goexit() // as in a real crash, the goroutine does not go on
		}},
	}
	for _, o := range w.options {
		o(&cfg)
	}
	e, err := host.New(cfg)
	require.NoError(w.t, err)
	require.NoError(w.t, e.Start(w.t.Context()))
	w.t.Cleanup(func() { _ = e.Stop(context.Background()) })
	w.mu.Lock()
	defer w.mu.Unlock()
	w.e, w.died = e, died
}

// pass counts a passing, and reports whether the engine crashes there.
func (w *scheduled) pass(point string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !strings.HasPrefix(point, "schedule.") {
		return false
	}
	w.passed[point]++
	if w.crash == nil || w.crash.Point != point || w.passed[point] != w.crash.N {
		return false
	}
	w.crash = nil
	return true
}

// do asks the engine for something until one of them has done it.
func (w *scheduled) do(ask func(e *host.Engine) error) {
	w.t.Helper()
	answerOf(w, func(e *host.Engine) (any, error) { return nil, ask(e) })
}

// answerOf is do for a question. The answer of a host that is gone counts for nothing.
func answerOf[T any](w *scheduled, ask func(e *host.Engine) (T, error)) T {
	w.t.Helper()
	type answer struct {
		value T
		err   error
	}
	for {
		w.mu.Lock()
		e, died := w.e, w.died
		w.mu.Unlock()
		answered := make(chan answer, 1)
		go func() {
			value, err := ask(e)
			answered <- answer{value, err}
		}()
		select {
		case a := <-answered:
			if abi.CodeOf(a.err) == abi.CodeShuttingDown {
				<-died // it was killed, and is about to say so
			}
			select {
			case <-died:
			default:
				require.NoError(w.t, a.err)
				return a.value
			}
		case <-died:
		}
		require.NoError(w.t, e.Stop(context.Background()))
		w.launch()
	}
}

// reach moves the clock on to a time, and on by seconds until something is true, but not as far as the next hour: on a
// slow machine it looks often.
func (w *scheduled) reach(to time.Time, what string, ok func(d *host.ScheduleDescription) bool) {
	w.t.Helper()
	if left := to.Sub(w.clock.Now()); left > 0 {
		w.clock.Advance(left)
	}
	end := w.clock.Now().Add(20 * time.Minute)
	harness.Eventually(w.t, what, func() bool {
		if w.clock.Now().Before(end) {
			w.clock.Advance(time.Second)
		}
		return ok(answerOf(w, func(e *host.Engine) (*host.ScheduleDescription, error) {
			return e.Schedules().Describe(w.t.Context(), "", "s", 3)
		}))
	})
}

// runs are the names of all executions without the incarnation of their schedule, with their states.
func (w *scheduled) runs() []string {
	page, err := w.store.List(w.t.Context(), journal.Filter{Limit: 1000})
	require.NoError(w.t, err)
	var names []string
	for _, e := range page.Executions {
		name := e.Name()
		names = append(names, name[:strings.LastIndex(name, "@")]+" "+string(e.State))
	}
	slices.Sort(names)
	return names
}

func (w *scheduled) create(spec journal.ScheduleSpec) {
	w.t.Helper()
	w.do(func(e *host.Engine) error {
		_, err := e.Schedules().Create(w.t.Context(), journal.Schedule{Name: "s", Spec: spec})
		if abi.CodeOf(err) == abi.CodeScheduleExists {
			return nil // made by an engine that crashed behind it
		}
		return err
	})
}

func (w *scheduled) settle(execution string) {
	w.t.Helper()
	require.NoError(
		w.t, w.e.Executions().Settle(w.t.Context(), "", execution, journal.Deferred{Name: "gate", Value: abi.Nil}),
	)
}

func day(hour int) time.Time { return time.Date(2026, 1, 1, hour, 0, 0, 0, time.UTC) }

// TestScheduleTicks is the life of a schedule: it ticks, is listed, paused, resumed, triggered,
// filled up, changed and deleted.
func TestScheduleTicks(t *testing.T) {
	t.Parallel()
	harness.EachStore(t, func(t *testing.T, store journal.Store) {
		w := newScheduled(t, store)
		w.create(journal.ScheduleSpec{Cron: "@hourly", Workflow: "quick/W"})
		list, err := w.e.Schedules().List(t.Context(), "", "", 10)
		require.NoError(t, err)
		require.Len(t, list, 1)
		require.Equal(t, []int64{day(1).UnixNano()}, list[0].Upcoming)
		require.Equal(t, day(1).UnixNano(), list[0].WakeAt)
		w.reach(day(1), "the first tick", func(d *host.ScheduleDescription) bool {
			return d.State.Ticks == 1 && len(d.State.Open) == 0
		})
		w.reach(day(2), "the second tick", func(d *host.ScheduleDescription) bool {
			return d.State.Ticks == 2 && len(d.State.Open) == 0
		})
		require.Equal(
			t, []string{"quick/W/s@2026-01-01T01:00:00Z completed", "quick/W/s@2026-01-01T02:00:00Z completed"},
			w.runs(),
		)

		_, err = w.e.Schedules().Pause(t.Context(), "", "s", "moving house")
		require.NoError(t, err)
		w.clock.Advance(3 * time.Hour)
		run, err := w.e.Schedules().Trigger(t.Context(), "", "s", "r1")
		require.NoError(t, err)
		require.Equal(t, journal.OutcomeStarted, run.Outcome, "it can be triggered while it is paused")
		again, err := w.e.Schedules().Trigger(t.Context(), "", "s", "r1")
		require.NoError(t, err)
		require.Equal(t, run.Execution, again.Execution)
		s, err := w.e.Schedules().Resume(t.Context(), "", "s", "")
		require.NoError(t, err)
		require.False(t, s.State.Paused)
		require.Equal(t, int64(2), s.State.Ticks, "what was due while it was paused is gone")
		// The run that was triggered would be in the way of the tick.
		w.reach(day(5), "the run that was triggered is over", func(d *host.ScheduleDescription) bool {
			return len(d.State.Open) == 0
		})
		w.reach(day(6), "the tick after that", func(d *host.ScheduleDescription) bool { return d.State.Ticks == 3 })
		ticks, err := w.e.Schedules().Backfill(t.Context(), "", "s", day(1).UnixNano(), day(5).UnixNano(), "")
		require.NoError(t, err)
		require.Equal(t, 5, ticks)
		w.reach(day(6), "the gap is filled", func(d *host.ScheduleDescription) bool {
			return len(d.State.Backfills) == 0 && len(d.State.Open) == 0
		})
		require.Equal(t, []string{
			"quick/W/s@2026-01-01T01:00:00Z completed", "quick/W/s@2026-01-01T02:00:00Z completed",
			"quick/W/s@2026-01-01T03:00:00Z completed", "quick/W/s@2026-01-01T04:00:00Z completed",
			"quick/W/s@2026-01-01T05:00:00Z completed",
			"quick/W/s@2026-01-01T06:00:00Z completed", "quick/W/s@trigger-r1 completed",
		}, w.runs(), "each tick once")

		_, err = w.e.Schedules().Update(t.Context(), journal.Schedule{
			Name: "s", Spec: journal.ScheduleSpec{Every: int64(24 * time.Hour), Workflow: "quick/W"},
		})
		require.NoError(t, err)
		d, err := w.e.Schedules().Describe(t.Context(), "", "s", 2)
		require.NoError(t, err)
		require.Equal(t, []int64{day(24).UnixNano(), day(48).UnixNano()}, d.Upcoming)
		require.NoError(t, w.e.Schedules().Delete(t.Context(), "", "s"))
		_, err = w.e.Schedules().Describe(t.Context(), "", "s", 2)
		require.Equal(t, abi.CodeScheduleNotFound, abi.CodeOf(err))
		require.Equal(t, abi.CodeScheduleNotFound, abi.CodeOf(w.e.Schedules().Delete(t.Context(), "", "s")))
	})
}

// TestScheduleCrashes crashes the engine at every passing of every fault point of schedules, on one store or the other,
// and in full on both. The starts equal an undisturbed run's, each once.
func TestScheduleCrashes(t *testing.T) {
	t.Parallel()
	for turn, kind := range harness.StoreKinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			w := newScheduled(t, harness.Store(t, kind))
			want := w.scenario()
			passings := w.passed
			w.e.Kill()
			tried := 0
			for _, point := range faultpoint.Points {
				if !strings.HasPrefix(point, "schedule.") {
					continue
				}
				require.Positive(t, passings[point], point)
				for n := 1; n <= passings[point]; n++ {
					if tried++; extenttest.Full() || tried%len(harness.StoreKinds) == turn {
						w.crashAt(faultpoint.Passing{Point: point, N: n}, want)
					}
				}
			}
		})
	}
}

// crashAt goes through the scenario with a crash. The schedule is made anew on the same store: the clock goes on from
// there.
func (w *scheduled) crashAt(at faultpoint.Passing, want []string) {
	again := &scheduled{
		t:       w.t,
		clock:   clockwork.NewFakeClockAt(halfPast),
		runtime: w.runtime,
		store:   w.store,
		passed:  map[string]int{},
		crash:   &at,
	}
	again.launch()
	require.Equal(w.t, want, again.scenario(), at)
	again.mu.Lock()
	require.Nil(w.t, again.crash, "no crash at %s", at)
	again.mu.Unlock()
	require.NoError(w.t, again.e.Stop(context.Background()))
}

// scenario uses a schedule, deletes it, and tells which executions there are of it.
func (w *scheduled) scenario() []string {
	ctx := w.t.Context()
	w.create(journal.ScheduleSpec{Cron: "@hourly", Workflow: "quick/W"})
	for hour := 1; hour <= 3; hour++ {
		w.reach(day(hour), fmt.Sprint("tick ", hour), func(d *host.ScheduleDescription) bool {
			return d.State.Ticks >= int64(hour) && len(d.State.Open) == 0
		})
	}
	w.do(func(e *host.Engine) error {
		_, err := e.Schedules().Trigger(ctx, "", "s", "r1")
		return err
	})
	from, to := day(-3).UnixNano(), day(2).UnixNano()
	w.do(func(e *host.Engine) error {
		_, err := e.Schedules().Backfill(ctx, "", "s", from, to, "")
		return err
	})
	// A run of the backfill would be in the way of the tick.
	w.reach(day(3), "the backfill is done", func(d *host.ScheduleDescription) bool {
		return len(d.State.Backfills) == 0 && len(d.State.Open) == 0
	})
	var d *host.ScheduleDescription
	w.reach(day(4), "all is done", func(got *host.ScheduleDescription) bool {
		d = got
		return d.State.Ticks >= 4 && len(d.State.Backfills) == 0 && len(d.State.Waiting) == 0 && len(d.State.Open) == 0
	})
	require.Equal(w.t, int64(4), d.State.Ticks, "no tick is counted twice")
	require.Zero(w.t, d.State.Skipped+d.State.Missed+d.State.Refused)
	id := fmt.Sprintf("%x", d.State.Incarnation[:6])
	page, err := w.store.List(ctx, journal.Filter{Limit: 1000})
	require.NoError(w.t, err)
	var names []string
	for _, e := range page.Executions {
		if strings.HasSuffix(e.Key, "@"+id) {
			names = append(names, strings.TrimSuffix(e.Name(), id)+" "+string(e.State))
		}
	}
	slices.Sort(names)
	w.do(func(e *host.Engine) error {
		if err := e.Schedules().Delete(ctx, "", "s"); abi.CodeOf(err) != abi.CodeScheduleNotFound {
			return err
		}
		return nil
	})
	return names
}

// TestScheduleHandover has another host take over while a schedule ticks. The one before writes nothing any more, and
// each tick is started once.
func TestScheduleHandover(t *testing.T) {
	t.Parallel()
	harness.EachStore(t, func(t *testing.T, store journal.Store) {
		w := newScheduled(t, store)
		w.create(journal.ScheduleSpec{Cron: "@hourly", Workflow: "quick/W"})
		// A run that is open would be in the way of the next tick.
		w.reach(day(1), "the first tick", func(d *host.ScheduleDescription) bool {
			return d.State.Ticks == 1 && len(d.State.Open) == 0
		})
		before := w.e
		w.launch() // the one before is not told
		for hour := 2; hour <= 4; hour++ {
			w.reach(day(hour), fmt.Sprint("tick ", hour), func(d *host.ScheduleDescription) bool {
				return d.State.Ticks == int64(hour) && len(d.State.Open) == 0
			})
		}
		_, err := before.Schedules().Trigger(t.Context(), "", "s", "late")
		require.Equal(t, abi.CodeFenced, abi.CodeOf(err), "%v", err)
		require.Error(t, before.Lost())
		require.Equal(t, []string{
			"quick/W/s@2026-01-01T01:00:00Z completed", "quick/W/s@2026-01-01T02:00:00Z completed",
			"quick/W/s@2026-01-01T03:00:00Z completed", "quick/W/s@2026-01-01T04:00:00Z completed",
		}, w.runs())
	})
}

// TestScheduleOverlaps has ticks come while the run before is not over.
func TestScheduleOverlaps(t *testing.T) {
	t.Parallel()
	started := func(n int64) func(d *host.ScheduleDescription) bool {
		return func(d *host.ScheduleDescription) bool { return d.State.Started == n }
	}
	for _, c := range []struct {
		overlap journal.Overlap
		// whether a tick at two finds the run of one, and the outcome.
		waits bool
		then  []string
	}{
		{journal.OverlapSkip, false, []string{"gated/W/s@2026-01-01T01:00:00Z running"}},
		{journal.OverlapQueue, true, []string{"gated/W/s@2026-01-01T01:00:00Z running"}},
		{
			journal.OverlapAllow, false,
			[]string{"gated/W/s@2026-01-01T01:00:00Z running", "gated/W/s@2026-01-01T02:00:00Z running"},
		},
	} {
		t.Run(string(c.overlap), func(t *testing.T) {
			t.Parallel()
			w := newScheduled(t, harness.Store(t, "sqlite"))
			w.create(journal.ScheduleSpec{Cron: "@hourly", Workflow: "gated/W", Overlap: c.overlap})
			var first string
			w.reach(day(1), "the first tick", func(d *host.ScheduleDescription) bool {
				if len(d.State.Open) == 1 {
					first = d.State.Open[0].Execution
				}
				return first != ""
			})
			w.reach(day(2), "the second tick", func(d *host.ScheduleDescription) bool {
				return d.State.Last == day(2).UnixNano() && (len(d.State.Waiting) == 1) == c.waits
			})
			require.Equal(t, c.then, w.runs())
			w.settle(first)
			if c.waits {
				w.reach(day(2), "what waited", started(2))
			}
		})
	}
	t.Run("cancel", func(t *testing.T) {
		t.Parallel()
		w := newScheduled(t, harness.Store(t, "sqlite"))
		w.create(journal.ScheduleSpec{Cron: "@hourly", Workflow: "gated/W", Overlap: journal.OverlapCancel})
		w.reach(day(1), "the first tick", started(1))
		asked := false
		w.reach(day(2), "the second tick", func(d *host.ScheduleDescription) bool {
			if len(d.State.Waiting) == 1 && len(d.State.Open) == 1 {
				// The run has been asked to stop. This program does not listen to that.
				row, err := w.e.Observer().Poll(t.Context(), "", d.State.Open[0].Execution)
				require.NoError(t, err)
				if row.Interrupt != nil && !asked {
					asked = true
					w.settle(row.Name())
				}
			}
			return d.State.Started == 2
		})
		page, err := w.store.List(t.Context(), journal.Filter{})
		require.NoError(t, err)
		require.Len(t, page.Executions, 2)
		require.NotNil(t, page.Executions[1].Interrupt)
		require.Contains(t, page.Executions[1].Interrupt.Reason, "schedule s")
	})
}

// TestScheduleAlways has one run after the other, over a crash.
func TestScheduleAlways(t *testing.T) {
	t.Parallel()
	w := newScheduled(t, harness.Store(t, "sqlite"))
	w.create(journal.ScheduleSpec{Always: true, Workflow: "gated/W"})
	for n := int64(1); n <= 3; n++ {
		var open string
		w.reach(halfPast, fmt.Sprint("run ", n), func(d *host.ScheduleDescription) bool {
			require.LessOrEqual(t, len(d.State.Open), 1)
			if d.State.Started == n && len(d.State.Open) == 1 {
				open = d.State.Open[0].Execution
			}
			return open != ""
		})
		if n == 2 { // the next host finds it, and waits for it
			w.e.Kill()
			require.NoError(t, w.e.Stop(context.Background()))
			w.launch()
		}
		w.settle(open)
	}
}
