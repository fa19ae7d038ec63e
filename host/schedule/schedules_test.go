package schedule

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/journal/memory"
)

// world is a store and a host that starts executions, and both fail when they are told to: before something took
// effect, or after.
type world struct {
	clock  *clockwork.FakeClock
	store  *memory.Store
	fences []journal.Fence

	mu         sync.Mutex
	fail       []failure                     // guarded by mu, like all below; of the next calls
	executions map[string]*journal.Execution // by name
	starts     map[string]int                // how often each began
	most       int                           // how many ran at once
	left       map[journal.ID]int64          // timers
	damaged    map[string]bool               // executions that cannot be read, by name
	places     int                           // how many schedules a namespace may have, if it is not 0
	ended      chan struct{}                 // closed and made anew when a run ends
}

type failure int

const (
	succeed failure = iota
	failBefore
	failAfter
)

var errAway = abi.Errorf(abi.CodeStore, "the store is away")

func newWorld(t require.TestingT) *world {
	w := &world{
		clock:      clockwork.NewFakeClockAt(newYear),
		store:      memory.New(),
		executions: map[string]*journal.Execution{},
		starts:     map[string]int{},
		left:       map[journal.ID]int64{},
		damaged:    map[string]bool{},
		ended:      make(chan struct{}),
	}
	var err error
	w.fences, err = w.store.ClaimShards(context.Background(), "test")
	require.NoError(t, err)
	return w
}

// room returns the room of a host that has just been started.
func (w *world) room(ctx context.Context) *Schedules {
	return New(Deps{
		Clock: w.clock, Context: ctx, Logger: slog.New(slog.DiscardHandler), Starter: w, Store: w, Timers: w,
	})
}

// host is room, with its end function.
func (w *world) host(ctx context.Context) (room *Schedules, crash func()) {
	ctx, cancel := context.WithCancel(ctx)
	room = w.room(ctx)
	return room, func() {
		cancel()
		room.Close()
	}
}

func (w *world) nextFailure() failure {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.fail) == 0 {
		return succeed
	}
	f := w.fail[0]
	w.fail = w.fail[1:]
	return f
}

func (w *world) SaveSchedule(ctx context.Context, s journal.Schedule, most int) error {
	f := w.nextFailure()
	if f == failBefore {
		return errAway
	}
	if w.places > 0 && most == MaxSchedules {
		most = w.places
	}
	err := w.store.SaveSchedule(ctx, w.fences[s.ID().Shard()], s, most)
	if err == nil && f == failAfter {
		return journal.ErrUndecided
	}
	return err
}

func (w *world) DeleteSchedule(ctx context.Context, id journal.ID, version int64) error {
	return w.store.DeleteSchedule(ctx, w.fences[id.Shard()], id, version)
}

func (w *world) Schedule(ctx context.Context, id journal.ID) (*journal.Schedule, error) {
	return w.store.Schedule(ctx, id)
}

func (w *world) Schedules(ctx context.Context, namespace, after string, limit int) ([]journal.Schedule, error) {
	return w.store.Schedules(ctx, namespace, after, limit)
}

func (w *world) DueSchedules(ctx context.Context, until int64, after journal.Wake, limit int) ([]journal.Wake, error) {
	return w.store.DueSchedules(ctx, until, after, limit)
}

func (w *world) Leave(id journal.ID, at int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.left[id] = at
}

func (w *world) CheckStart(_ context.Context, _, workflow string, input []byte) ([]byte, error) {
	if workflow != "a/B" {
		return nil, abi.Errorf(abi.CodeUnknownWorkflow, "there is no workflow %s", workflow)
	}
	return input, nil
}

func (w *world) Start(
	_ context.Context, namespace, workflow, key string, input []byte,
) (*journal.Execution, bool, error) {
	f := w.nextFailure()
	if f == failBefore {
		return nil, false, errAway
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	name := workflow + "/" + key
	existed := w.executions[name] != nil
	if !existed {
		w.starts[name]++
		w.executions[name] = &journal.Execution{
			Namespace: namespace, Workflow: workflow, Key: key, Input: input, State: journal.Running,
		}
		w.most = max(w.most, len(w.runningLocked()))
	}
	if f == failAfter {
		return nil, false, errAway
	}
	e := *w.executions[name]
	return &e, existed, nil
}

func (w *world) runningLocked() (names []string) {
	for name, e := range w.executions {
		if !e.State.Final() {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func (w *world) Poll(_ context.Context, _, name string) (*journal.Execution, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.damaged[name] {
		return nil, abi.Errorf(abi.CodeHostFault, "the row of %s does not decode", name)
	}
	if w.executions[name] == nil {
		return nil, abi.Errorf(abi.CodeExecutionNotFound, "there is no execution %s", name)
	}
	e := *w.executions[name]
	return &e, nil
}

func (w *world) Wait(ctx context.Context, namespace, name string) (*journal.Execution, error) {
	for {
		w.mu.Lock()
		ended := w.ended
		w.mu.Unlock()
		if e, err := w.Poll(ctx, namespace, name); err != nil || e.State.Final() {
			return e, err
		}
		select {
		case <-ended:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (w *world) Interrupt(_ context.Context, _, name, _ string) error {
	w.end(name, journal.Interrupted)
	return nil
}

func (w *world) end(name string, state journal.State) {
	w.mu.Lock()
	defer w.mu.Unlock()
	e := w.executions[name]
	if e.State.Final() {
		return
	}
	e.State, e.FinishedAt = state, w.clock.Now().UnixNano()
	close(w.ended)
	w.ended = make(chan struct{})
}

// TestEveryTickIsAccountedFor has hosts crash, stores fail and runs end at random. At the end each tick was started
// once, or is counted as skipped or missed, and runs overlap only where that is allowed.
func TestEveryTickIsAccountedFor(t *testing.T) {
	t.Parallel()
	// In a bubble, so that a step ends before the next begins. Rapid would ask a *testing.T for its
	// deadline, and there is none in a bubble.
	synctest.Test(t, func(t *testing.T) { rapid.Check(struct{ rapid.TB }{t}, accountForTicks) })
}

func accountForTicks(t *rapid.T) {
	w := newWorld(t)
	ctx := t.Context()
	room, crash := w.host(ctx)
	defer func() { crash() }()
	spec := journal.ScheduleSpec{
		Workflow: "a/B",
		Cron:     "@hourly",
		CatchUp: int64(rapid.SampledFrom([]time.Duration{time.Minute, 3 * time.Hour, 48 * time.Hour}).Draw(
			t, "catch-up",
		)),
		Jitter: int64(rapid.SampledFrom([]time.Duration{0, 10 * time.Minute}).Draw(t, "jitter")),
		Overlap: rapid.SampledFrom([]journal.Overlap{
			journal.OverlapSkip, journal.OverlapQueue, journal.OverlapCancel, journal.OverlapAllow,
		}).Draw(t, "overlap"),
	}
	created, err := room.Create(ctx, journal.Schedule{Namespace: "default", Name: "s", Spec: spec})
	require.NoError(t, err)
	id, from := created.ID(), created.State.Last
	for range rapid.IntRange(1, 40).Draw(t, "steps") {
		synctest.Wait()
		switch rapid.IntRange(0, 5).Draw(t, "step") {
		case 0:
			w.clock.Advance(time.Duration(rapid.IntRange(1, 300).Draw(t, "minutes")) * time.Minute)
		case 1:
			_ = room.attempt(id, func() {}) // it may fail
		case 2:
			w.mu.Lock()
			running := w.runningLocked()
			w.mu.Unlock()
			if len(running) > 0 {
				w.end(rapid.SampledFrom(running).Draw(t, "over"), journal.Completed)
			}
		case 3:
			w.mu.Lock()
			w.fail = rapid.SliceOfN(rapid.SampledFrom([]failure{succeed, failBefore, failAfter}), 0, 4).Draw(
				t, "failures",
			)
			w.mu.Unlock()
		case 4: // memory is lost
			crash()
			room, crash = w.host(ctx)
		case 5:
			if spec.Overlap == journal.OverlapSkip || spec.Overlap == journal.OverlapAllow {
				continue // a skipped one would be counted among the ticks
			}
			_, _ = room.Trigger(ctx, "default", "s", fmt.Sprintf("r%d", rapid.IntRange(0, 3).Draw(t, "request")))
		}
	}
	w.mu.Lock()
	w.fail = nil
	w.mu.Unlock()
	synctest.Wait()
	require.NoError(t, room.attempt(id, func() {}))
	s, err := w.store.Schedule(ctx, id)
	require.NoError(t, err)
	w.check(t, s, from)
}

// check counts the past ticks, and compares with the counts of the schedule.
func (w *world) check(t require.TestingT, s *journal.Schedule, from int64) {
	p, err := newPlan(s, w.clock.Now().UnixNano())
	require.NoError(t, err)
	due := int64(0)
	for at := p.table.Next(from); at != journal.Never && dueAt(s, p.table, at) <= p.now; at = p.table.Next(at) {
		due++
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	ticks, triggers := int64(0), int64(0)
	for name, n := range w.starts {
		require.Equal(t, 1, n, name)
		if strings.Contains(name, "@trigger-") {
			triggers++
		} else {
			ticks++
		}
	}
	require.Equal(t, ticks, s.State.Ticks, "each tick that was started is recorded, once")
	require.Equal(t, ticks+triggers, s.State.Started)
	require.Equal(
		t, due, ticks+s.State.Skipped+s.State.Missed+p.waitingTicks(), "no tick is lost, and none is counted twice",
	)
	var open []string
	for _, r := range s.State.Open {
		open = append(open, r.Execution)
	}
	slices.Sort(open)
	require.Subset(t, open, w.runningLocked(), "the schedule knows of every run that is not over")
	if s.Spec.Overlap != journal.OverlapAllow {
		require.LessOrEqual(t, w.most, 1, "runs overlap")
	}
}

// TestAdoption has a host crash between the two commits of a tick, and the next one come long after the tick is too old
// to be started.
func TestAdoption(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, err := w.room(t.Context()).Create(t.Context(), journal.Schedule{
		Namespace: "default",
		Name:      "s",
		Spec:      journal.ScheduleSpec{Workflow: "a/B", Cron: "@hourly", CatchUp: int64(time.Minute)},
	})
	require.NoError(t, err)
	id := journal.ScheduleID("default", "s")
	w.clock.Advance(time.Hour)
	w.fail = []failure{succeed, failBefore}
	require.Error(t, w.room(t.Context()).attempt(id, func() {}))
	require.Len(t, w.executions, 1)

	w.clock.Advance(5*time.Hour + 30*time.Minute)
	room := w.room(t.Context())
	require.NoError(t, room.attempt(id, func() {}))
	d, err := room.Describe(t.Context(), "default", "s", 1)
	require.NoError(t, err)
	require.EqualValues(t, 1, d.State.Ticks)
	require.Len(t, d.State.Open, 1, "it is known to run")
	w.clock.Advance(30 * time.Minute)
	require.NoError(t, room.attempt(id, func() {}))
	require.Len(t, w.executions, 1, "the next tick finds it in the way")
}

// TestFullHost has a host refuse all starts: it can still be told to pause, and the tick that could not be started is
// counted.
func TestFullHost(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	room := w.room(t.Context())
	_, err := room.Create(t.Context(), journal.Schedule{
		Namespace: "default", Name: "s", Spec: journal.ScheduleSpec{Workflow: "a/B", Cron: "@hourly"},
	})
	require.NoError(t, err)
	w.clock.Advance(time.Hour)
	w.fail = []failure{failBefore}
	s, err := room.Pause(t.Context(), "default", "s", "full")
	require.NoError(t, err)
	require.True(t, s.State.Paused)
	require.EqualValues(t, 1, s.State.Skipped)
	require.Empty(t, w.executions)
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	room := w.room(t.Context())
	good := journal.Schedule{
		Namespace: "default", Name: "s", Spec: journal.ScheduleSpec{Workflow: "a/B", Cron: "@hourly"},
	}
	for name, c := range map[string]struct {
		change func(s *journal.Schedule)
		code   abi.Code
	}{
		"a name that is none": {func(s *journal.Schedule) { s.Name = "a/b" }, abi.CodeBadSchedule},
		"a long name":         {func(s *journal.Schedule) { s.Name = strings.Repeat("a", 64) }, abi.CodeBadSchedule},
		"an unknown workflow": {func(s *journal.Schedule) { s.Spec.Workflow = "a/C" }, abi.CodeUnknownWorkflow},
		"no workflow":         {func(s *journal.Schedule) { s.Spec.Workflow = "" }, abi.CodeBadSchedule},
		"a large input": {
			func(s *journal.Schedule) { s.Input = make([]byte, MaxInput+1) }, abi.CodePayloadTooLarge,
		},
		"a long note": {
			func(s *journal.Schedule) { s.State.Note = strings.Repeat("n", maxNote+1) }, abi.CodeBadSchedule,
		},
		"a long expression": {
			func(s *journal.Schedule) { s.Spec.Cron = strings.Repeat("*", 300) }, abi.CodeBadSchedule,
		},
		"a negative jitter":     {func(s *journal.Schedule) { s.Spec.Jitter = -1 }, abi.CodeBadSchedule},
		"a policy that is none": {func(s *journal.Schedule) { s.Spec.Overlap = "sometimes" }, abi.CodeBadSchedule},
		"a long queue": {
			func(s *journal.Schedule) { s.Spec.Overlap, s.Spec.MaxQueued = journal.OverlapQueue, 101 },
			abi.CodeBadSchedule,
		},
		"a queue of skip": {func(s *journal.Schedule) { s.Spec.MaxQueued = 1 }, abi.CodeBadSchedule},
		"bounds out of order": {
			func(s *journal.Schedule) { s.Spec.NotBefore, s.Spec.NotAfter = 2, 1 }, abi.CodeBadSchedule,
		},
		"jitter of always": {
			func(s *journal.Schedule) { s.Spec.Cron, s.Spec.Always, s.Spec.Jitter = "", true, 1 }, abi.CodeBadSchedule,
		},
		"no pause": {
			func(s *journal.Schedule) { s.Spec.Cron, s.Spec.Always, s.Spec.RestartMin = "", true, 1 },
			abi.CodeBadSchedule,
		},
	} {
		bad := good
		c.change(&bad)
		_, err := room.Create(t.Context(), bad)
		require.Equal(t, c.code, abi.CodeOf(err), "%s: %v", name, err)
	}
	_, err := room.Create(t.Context(), good)
	require.NoError(t, err)
	_, err = room.Create(t.Context(), good)
	require.Equal(t, abi.CodeScheduleExists, abi.CodeOf(err))
	_, err = room.Trigger(t.Context(), "default", "s", "a b")
	require.Equal(t, abi.CodeBadSchedule, abi.CodeOf(err))
	_, err = room.Trigger(t.Context(), "default", "other", "a")
	require.EqualError(t, err, `CR-2051: there is no schedule "other"`)
	require.EqualError(
		t, room.Delete(t.Context(), "default", "S"), `CR-2051: there is no schedule "S"; did you mean "s"?`,
	)
	_, err = room.Backfill(t.Context(), "default", "s", 1, newYear.UnixNano(), "")
	require.Equal(t, abi.CodeBadSchedule, abi.CodeOf(err), "more than 10,000 ticks")
	_, err = room.Describe(t.Context(), "default", "s", 101)
	require.Equal(t, abi.CodeBadSchedule, abi.CodeOf(err))
}

// TestRecovered has retention wait until a host knows the starts of the one before.
func TestRecovered(t *testing.T) {
	t.Parallel()
	w, id := newWorld(t), journal.ScheduleID("default", "s")
	_, err := w.room(t.Context()).Create(t.Context(), journal.Schedule{
		Namespace: "default", Name: "s", Spec: journal.ScheduleSpec{Workflow: "a/B", Cron: "@hourly"},
	})
	require.NoError(t, err)
	w.clock.Advance(time.Hour)
	w.fail = []failure{succeed, failBefore}
	require.Error(t, w.room(t.Context()).attempt(id, func() {}), "it was started, and that was not recorded")

	room, crash := w.host(t.Context())
	release, err := room.acquire(t.Context(), id)
	require.NoError(t, err)
	room.EnsureInMemory(id)
	room.Scanned()
	select {
	case <-room.Recovered():
		require.FailNow(t, "it has not been looked at")
	default:
	}
	release()
	<-room.Recovered()
	s, err := w.store.Schedule(t.Context(), id)
	require.NoError(t, err)
	require.EqualValues(t, 1, s.State.Ticks)
	crash()
	require.Len(t, w.executions, 1)
}

// TestQueueGoesOn has waiting ticks started when the run before has ended.
func TestQueueGoesOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		ctx, cancel := context.WithCancel(t.Context())
		room := w.room(ctx)
		_, err := room.Create(ctx, journal.Schedule{Namespace: "default", Name: "s", Spec: journal.ScheduleSpec{
			Workflow: "a/B", Cron: "@hourly", CatchUp: int64(24 * time.Hour), Overlap: journal.OverlapQueue,
		}})
		require.NoError(t, err)
		w.clock.Advance(3 * time.Hour)
		require.NoError(t, room.attempt(journal.ScheduleID("default", "s"), func() {}))
		for range 3 {
			synctest.Wait()
			w.mu.Lock()
			running := w.runningLocked()
			w.mu.Unlock()
			require.Len(t, running, 1)
			w.end(running[0], journal.Completed)
		}
		synctest.Wait()
		cancel()
		room.Close()
		require.Len(t, w.executions, 3)
		require.Equal(t, 1, w.most)
	})
}

// TestOneTaskASchedule has a schedule that cannot go on woken again and again: the task that tries it again is enough.
func TestOneTaskASchedule(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		room, end := w.host(t.Context())
		_, err := room.Create(t.Context(), journal.Schedule{
			Namespace: "default", Name: "s", Spec: journal.ScheduleSpec{Workflow: "a/B", Cron: "@hourly"},
		})
		require.NoError(t, err)
		w.clock.Advance(time.Hour)
		w.mu.Lock()
		w.fail = slices.Repeat([]failure{failBefore}, 1000)
		w.mu.Unlock()
		for range 10 {
			room.EnsureInMemory(journal.ScheduleID("default", "s"))
			synctest.Wait()
		}
		w.mu.Lock()
		tried := 1000 - len(w.fail)
		w.mu.Unlock()
		require.Equal(t, 1, tried)
		end()
	})
}
