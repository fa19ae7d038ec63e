package execution

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/activity"
	"github.com/cruster/cruster/host/budget"
	"github.com/cruster/cruster/host/guest"
	"github.com/cruster/cruster/host/hibernation"
	"github.com/cruster/cruster/host/hoststate"
	"github.com/cruster/cruster/host/op"
	"github.com/cruster/cruster/host/timer"
	"github.com/cruster/cruster/host/wasm"
	"github.com/cruster/cruster/host/watch"
	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/journal/memory"
)

// fixture is a host whose guests follow scripts and whose activities end when the
// test says so. Store, committer, timers and time are real; in a synctest bubble
// time is virtual. What happens is noted, in order.
type fixture struct {
	t     *testing.T
	store *memory.Store
	start time.Time

	x        *Executions
	life     *hoststate.State
	timers   *timer.Heap
	watchers *watch.List
	commits  *scriptedCommitter
	evicting bool
	// serial is a host that takes no first turn before its start is durable.
	serial bool
	// idle is how long instances stay warm: an hour, unless a test says otherwise.
	idle time.Duration
	// hibernation says when states are saved: never, unless a test says otherwise.
	hibernation hibernation.Policy

	guests     Opener
	activities Activities

	mu      sync.Mutex
	scripts map[string][]string    // guarded by mu; by workflow, one line a turn
	traps   int                    // guarded by mu; calls of guests that trap from now on
	missing bool                   // guarded by mu; the module cannot be found
	tasks   map[uint32]chan string // guarded by mu; activities that run, by op
	noted   map[string][]string    // guarded by mu
	noLoads int                    // guarded by mu; how many reads of deferreds fail from now on
	reads   int                    // guarded by mu; values of deferreds that were read
	panicAt string                 // guarded by mu; the fault point at which the host panics once
	sweepAt string                 // guarded by mu; the fault point at which retention deletes what is over, once
	opening func()                 // guarded by mu; what happens while the next guest is opened
	slow    int                    // guarded by mu; calls of guests that take 200ms from now on
	crowd   chan struct{}          // closed to have other guests end; nil if there are none
	// committing is what happens while the next transaction of an activity commits.
	committing func()      // guarded by mu
	late       chan string // guarded by mu; the activity that goes on although it was given up
}

func newFixture(t *testing.T) *fixture { return newFixtureOf(t, nil, nil) }

// newFixtureOf is a fixture with guests and activities of other kinds, if they are given.
func newFixtureOf(t *testing.T, guests Opener, activities Activities) *fixture {
	f := &fixture{
		idle: time.Hour, hibernation: hibernation.Policy{Entries: -1},
		t: t, store: memory.New(), start: time.Now(), guests: guests, activities: activities,
		scripts: map[string][]string{}, tasks: map[uint32]chan string{}, noted: map[string][]string{},
	}
	if guests == nil {
		f.guests, f.activities = f.open, f
	}
	f.boot()
	t.Cleanup(f.end)
	return f
}

// boot starts a host over the store, fencing the one before.
func (f *fixture) boot() {
	fences, err := f.store.ClaimShards(f.t.Context(), "test")
	require.NoError(f.t, err)
	clock := clockwork.NewRealClock()
	f.life = hoststate.New()
	f.commits = &scriptedCommitter{store: f.store, fences: fences}
	f.watchers = watch.NewList()
	f.timers = timer.New(clock, func(id journal.ID) { f.x.Wake(id) }, nil)
	f.x = New(Deps{
		Activities: f.activities, Clock: clock, Committer: f.commits, EvictAlways: f.evicting, NoHeadStarts: f.serial, Fault: f.pass, Hibernation: f.hibernation,
		IdleTimeout: f.idle, Host: f.life, Logger: slog.New(slog.DiscardHandler), MaxActivities: 100, Memory: budget.New(100),
		OpenGuest: f.guests, Queued: budget.New(100 << 20), Random: func() float64 { return 0 },
		Slots: guest.NewSlots(clock, time.Hour), StartChild: f.startChild, Store: &failingLoads{f.store, f}, Timers: f.timers, Watchers: f.watchers,
	})
	f.life.MarkStarted()
	f.watchers.Add(rowOf("w", "k").ID, func(row *journal.Execution) bool {
		f.note("w", "watchers are told: %s %s", row.State, outcomeText(row.Value, row.Error))
		return false
	})
	go f.timers.Run(f.life.Context())
}

// pass panics at a fault point, if the test says so.
func (f *fixture) pass(point string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.sweepAt == point {
		f.sweepAt = ""
		_, err := f.store.Sweep(f.t.Context(), f.commits.fences, journal.Never, 100)
		require.NoError(f.t, err)
	}
	if f.panicAt == point {
		f.panicAt = ""
		panic("injected at " + point)
	}
}

// end stops the host as a crash would, and waits for its goroutines.
func (f *fixture) end() {
	f.life.Drain()
	f.x.Close()
	f.life.End()
	<-f.x.Idle()
	f.x.DropGuests()
	// A caller whose start was in vain may be about to give its instance back.
	require.Eventually(f.t, func() bool { return f.x.Memory.Used() == 0 }, time.Minute, time.Millisecond, "instances were lost")
}

// note says what happened to whom. What happens to one is in order.
func (f *fixture) note(whom, format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.noted[whom] = append(f.noted[whom], fmt.Sprintf(format, args...))
}

// takeNotes renders the notes: those of workflow w first.
func (f *fixture) takeNotes() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out strings.Builder
	for _, n := range f.noted["w"] {
		fmt.Fprintln(&out, n)
	}
	delete(f.noted, "w")
	for _, whom := range slices.Sorted(maps.Keys(f.noted)) {
		for _, n := range f.noted[whom] {
			fmt.Fprintf(&out, "%s: %s\n", whom, n)
		}
	}
	clear(f.noted)
	return out.String()
}

// rowOf is the row of a new execution of a scripted workflow.
func rowOf(workflow, key string) *journal.Execution {
	run, now := journal.NewRunID(), time.Now().UnixNano()
	return &journal.Execution{
		ID: journal.IDOf("default", "scripts/"+workflow, key), Run: run, Namespace: "default", Workflow: "scripts/" + workflow, Key: key,
		Digest: "script", Input: abi.Nil, State: journal.Running, WakeAt: journal.Now, CreatedAt: now,
		Pinned: journal.Pinned{Format: journal.CurrentFormat, Seed: run, Time: now},
	}
}

func (f *fixture) startChild(ctx context.Context, _ *journal.Execution, step journal.Caller, call *abi.Call) (*journal.Execution, bool, error) {
	row := rowOf(call.Workflow, "child")
	row.Parent = step
	existed, err := f.x.Start(ctx, row)
	if err == nil && existed {
		row, err = f.store.Load(ctx, row.ID)
	}
	return row, existed, err
}

// scriptedCommitter commits one write at a time, or loses the answer, the write, or
// the store.
type scriptedCommitter struct {
	store  *memory.Store
	fences []journal.Fence
	seen   func(w journal.Write) // if set, it looks at each write first

	mu      sync.Mutex
	next    []string // guarded by mu; what becomes of the next commits
	crowded bool     // guarded by mu; many others commit at the same time
	count   int      // guarded by mu; commits that took effect
	took    []string // guarded by mu; what they wrote, since it was asked for
}

func (c *scriptedCommitter) Commit(w journal.Write) (journal.Result, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.seen != nil {
		c.seen(w)
	}
	mishap := ""
	if len(c.next) > 0 {
		mishap, c.next = c.next[0], c.next[1:]
	}
	switch mishap {
	case "drop":
		return journal.Result{}, fmt.Errorf("commit: %w", journal.ErrUndecided)
	case "fail":
		return journal.Result{}, errors.New("no connection")
	}
	w.Fence = c.fences[w.ID.Shard()]
	results, err := c.store.Commit(context.Background(), []journal.Write{w})
	if err != nil {
		return journal.Result{}, err
	}
	if results[0].Err == nil && !results[0].Existed {
		c.count++
		c.took = append(c.took, writtenText(w))
	}
	if mishap == "lose" {
		return journal.Result{}, fmt.Errorf("commit: %w", journal.ErrUndecided)
	}
	return results[0], results[0].Err
}

// Shares implements Committer.
func (c *scriptedCommitter) Shares() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.crowded
}

// writtenText says what a write changes: entries, and the row.
func writtenText(w journal.Write) string {
	if w.Start != nil {
		return "the start"
	}
	var parts []string
	for _, en := range w.Entries {
		parts = append(parts, fmt.Sprintf("entry %d", en.Seq))
	}
	if w.Settle != nil {
		parts = append(parts, "a settlement")
	}
	if w.Update == nil {
		return strings.Join(append(parts, "the row is left alone"), ", ")
	}
	return strings.Join(append(parts, "the row"), ", ")
}

// scripted is a guest that follows a script: each turn it does what the next line
// says, whatever it is told.
type scripted struct {
	f     *fixture
	name  string
	lines []string
	clock int64
	ops   uint32
	seen  op.Occurrences
}

func (f *fixture) open(_ context.Context, row *journal.Execution) (Opening, error) {
	f.mu.Lock()
	meanwhile := f.opening
	f.opening = nil
	f.mu.Unlock()
	if meanwhile != nil {
		meanwhile()
		time.Sleep(time.Nanosecond) // until nothing else moves
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.missing {
		return Opening{}, abi.Errorf(abi.CodeModuleNotFound, "the script is gone")
	}
	_, name, _ := strings.Cut(row.Workflow, "/")
	lines := f.scripts[name]
	if row.Digest != "script" {
		lines = f.scripts[name+"@"+row.Digest]
	}
	g := &scripted{f: f, name: name, lines: lines, clock: row.CreatedAt, seen: op.Occurrences{}}
	return Opening{Bytes: 1, Open: func(context.Context, guest.Memory) (Guest, error) { return g, nil }}, nil
}

func (g *scripted) Start(context.Context) (guest.Turn, error) { return g.take("start") }

func (g *scripted) Resume(ctx context.Context, deliveries []abi.Delivery, at int64) (guest.Turn, error) {
	if g.f.isSlow() {
		select {
		case <-time.After(200 * time.Millisecond):
		case <-ctx.Done():
			return guest.Turn{}, abi.Errorf(abi.CodeGuestTimeout, "the turn took too long")
		}
	}
	g.clock = at
	var told []string
	for _, d := range deliveries {
		told = append(told, fmt.Sprintf("op %d: %s", d.Op, outcomeText(d.Value, d.Error)))
	}
	return g.take(strings.Join(told, ", "))
}

// isSlow tells whether a call of a guest takes long.
func (f *fixture) isSlow() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.slow--
	return f.slow >= 0
}

// takeSlots has other guests take all slots, or leave them.
func (f *fixture) takeSlots(take bool) {
	if !take {
		close(f.crowd)
		return
	}
	f.crowd = make(chan struct{})
	for range 2 * runtime.GOMAXPROCS(0) {
		go func() {
			_ = f.x.Slots.Compute(context.Background(), func(context.Context) error {
				<-f.crowd
				return nil
			})
		}()
	}
}

func (g *scripted) Save() (*guest.Saved, error) { return nil, wasm.ErrNoState }

func (g *scripted) Close() { g.f.note(g.name, "instance dropped") }

func (g *scripted) take(told string) (guest.Turn, error) {
	g.f.note(g.name, "guest %s", told)
	g.f.mu.Lock()
	trap := g.f.traps > 0
	if trap {
		g.f.traps--
	}
	g.f.mu.Unlock()
	if trap {
		return guest.Turn{}, &wasm.Trap{Err: abi.Errorf(abi.CodeGuestTrap, "index out of range")}
	}
	if len(g.lines) == 0 {
		return guest.Turn{}, abi.Errorf(abi.CodeGuestProtocol, "the script is over")
	}
	var turn guest.Turn
	for action := range strings.SplitSeq(g.lines[0], ";") {
		g.act(&turn, strings.Fields(action))
	}
	g.lines = g.lines[1:]
	return turn, nil
}

// act does one action of a script.
func (g *scripted) act(turn *guest.Turn, words []string) {
	verb, rest := words[0], strings.Join(words[1:], " ")
	switch verb {
	case "park":
	case "log":
		turn.Log = append(turn.Log, guest.LogLine{Level: abi.LogInfo, Message: rest})
	case "cancel":
		n, err := strconv.ParseUint(rest, 10, 32)
		require.NoError(g.f.t, err)
		turn.Cancelled = append(turn.Cancelled, uint32(n))
	case "done":
		turn.Outcome = &abi.Outcome{Value: abi.MustMarshal(rest)}
	case "failed":
		turn.Outcome = &abi.Outcome{Error: &abi.Error{Message: rest}}
	case "stop":
		turn.Outcome = &abi.Outcome{Error: abi.Errorf(abi.CodeInterrupted, "interrupted")}
	default:
		g.ops++
		o, err := op.New(verb, g.body(verb, words[1:]), g.ops, g.clock)
		require.Nil(g.f.t, err)
		g.seen.Count(o)
		turn.Issued = append(turn.Issued, o)
	}
}

func (g *scripted) body(kind string, words []string) []byte {
	name := strings.Join(words[:min(len(words), 1)], "")
	switch kind {
	case abi.OpSleep:
		d, err := time.ParseDuration(name)
		require.NoError(g.f.t, err)
		return abi.MustMarshal(&abi.Sleep{Duration: int64(d)})
	case abi.OpActivity:
		b := &abi.Activity{Name: name, Input: abi.Nil, Retry: abi.Retry{Base: int64(time.Second)}}
		for _, word := range words[1:] {
			if input, ok := strings.CutPrefix(word, "input="); ok {
				b.Input = abi.MustMarshal(input)
				continue
			}
			n, err := strconv.ParseUint(strings.TrimPrefix(word, "retries="), 10, 32)
			require.NoError(g.f.t, err)
			b.Retry.Retries = uint32(n)
		}
		return abi.MustMarshal(b)
	case abi.OpDeferred:
		return abi.MustMarshal(&abi.Deferred{Name: name})
	case abi.OpInterrupted:
		return abi.MustMarshal(&abi.Interrupted{})
	case abi.OpPatched:
		return abi.MustMarshal(&abi.Patched{ID: name})
	case abi.OpCall, abi.OpSend:
		return abi.MustMarshal(&abi.Call{Workflow: name, Input: abi.Nil})
	case abi.OpResolve:
		return abi.MustMarshal(&abi.Resolve{Name: name, Value: abi.MustMarshal("resolved inside")})
	case abi.OpPoll:
		return abi.MustMarshal(&abi.Poll{Execution: name})
	}
	require.FailNow(g.f.t, "unknown action", kind)
	return nil
}

// Perform implements Activities: it waits until the test says what becomes of the
// attempt.
func (f *fixture) Perform(ctx context.Context, task activity.Task) activity.Report {
	if !task.Begin(ctx) {
		return nil
	}
	number, verdict := task.Op.Number, make(chan string)
	whom := fmt.Sprintf("activity %d", number)
	f.note(whom, "%s begins, attempt %d", task.Body.Name, task.Failed+1)
	f.mu.Lock()
	f.tasks[number] = verdict
	f.mu.Unlock()
	givenUp := ctx.Done()
	for {
		select {
		case <-givenUp:
			f.note(whom, "given up")
			return nil
		case <-f.life.Context().Done():
			return nil
		case v := <-verdict:
			kind, text, _ := strings.Cut(v, " ")
			switch kind {
			case "linger":
				givenUp = nil
				f.mu.Lock()
				f.late = verdict
				f.mu.Unlock()
			case "ok":
				return activity.Done{Outcome: abi.Outcome{Value: abi.MustMarshal(text)}, Attempts: task.Failed + 1}
			case "fail":
				return activity.Failed{Err: &abi.Error{Code: abi.CodeActivityFailed, Message: text, Retryable: true}}
			case "fail-for-good":
				return activity.Failed{Err: &abi.Error{Code: abi.CodeActivityFailed, Message: text}}
			case "stuck":
				return activity.Stuck{Err: abi.Errorf(abi.CodeModuleInit, "the module failed in _initialize")}
			case "reserve":
				if report := f.transact(ctx, whom, task, text, verdict); report != nil {
					return report
				}
			}
		}
	}
}

// transact is an attempt with SQL: it reserves its place, and commits or rolls back
// when the test says so.
func (f *fixture) transact(ctx context.Context, whom string, task activity.Task, value string, verdict <-chan string) activity.Report {
	entry, wanted := task.Reserve(ctx, abi.MustMarshal(value), task.Failed+1)
	if !wanted {
		f.note(whom, "not waited for")
		return activity.Dropped{}
	}
	f.note(whom, "reserves %d", entry.Seq)
	var decision string
	select {
	case decision = <-verdict:
	case <-f.life.Context().Done():
		return nil // it dies with the host
	}
	if decision == "rollback" {
		task.Void(entry.Seq)
		return nil
	}
	delivered, err := f.commitEntry(task, entry, decision)
	switch {
	case decision == "commit-unheard":
		require.NoError(f.t, err)
		<-ctx.Done()
		return nil
	case err == nil:
		return activity.Committed{Entry: entry, Delivered: delivered}
	case f.life.Context().Err() != nil:
		return nil
	default:
		f.note(whom, "is rolled back: %v", err)
		task.Void(entry.Seq)
		return nil
	}
}

// commitEntry commits the entry of an attempt with SQL as host/activity does: together with
// its turn if the attempt is to be ahead, else alone. If the answer is lost, it finds out.
func (f *fixture) commitEntry(task activity.Task, entry journal.Entry, how string) (delivered bool, err error) {
	commit := func(w journal.Write) error {
		f.die(how, "die-before-commit")
		f.mu.Lock()
		meanwhile := f.committing
		f.committing = nil
		f.mu.Unlock()
		if meanwhile != nil {
			go meanwhile()
			time.Sleep(time.Nanosecond) // until nothing else moves
		}
		_, err := f.commits.Commit(w)
		f.die(how, "die-after-commit")
		return err
	}
	alone := func(en journal.Entry) error {
		return commit(journal.Write{ID: task.Row.ID, Run: task.Row.Run, Entries: []journal.Entry{en}})
	}
	if how != "commit" && how != "commit-unheard" {
		delivered, err = task.Deliver(entry, commit)
	}
	if !delivered && err == nil {
		err = alone(entry)
	}
	life := f.life.Context()
	for isUndecided(err) && life.Err() == nil {
		found, _, ferr := f.store.Entries(context.Background(), task.Row.ID, entry.Seq-1, journal.PageLimit{Entries: 1})
		if ferr == nil && len(found) == 1 && found[0].Seq == entry.Seq {
			if err = nil; found[0].Kind != journal.Delivery {
				err = journal.ErrConflict
			}
			break
		}
		if err = alone(journal.Entry{Kind: journal.Void, Seq: entry.Seq, At: entry.At, Op: entry.Op}); err == nil {
			err = journal.ErrConflict
		}
	}
	return delivered, err
}

// die ends the goroutine with the host, if it is to.
func (f *fixture) die(how, here string) {
	if how == here {
		<-f.life.Context().Done()
		runtime.Goexit()
	}
}

// decide ends an attempt, or takes it a step further.
func (f *fixture) decide(number uint32, verdict string) {
	f.mu.Lock()
	task := f.tasks[number]
	f.mu.Unlock()
	require.NotNil(f.t, task, "activity %d does not run", number)
	task <- verdict
}

func outcomeText(value []byte, err *abi.Error) string {
	if err != nil {
		return err.Error()
	}
	var v any
	if abi.Unmarshal(value, &v) != nil {
		return fmt.Sprintf("%x", value)
	}
	return fmt.Sprint(v)
}

// show renders the row, the journal and what is in memory.
func (f *fixture) show(row *journal.Execution) string {
	var out strings.Builder
	stored, err := f.store.Load(f.t.Context(), row.ID)
	if err != nil {
		return err.Error() + "\n"
	}
	fmt.Fprintf(&out, "%s", stored.State)
	if stored.State == journal.Running {
		fmt.Fprintf(&out, ", wake %s", f.timeText(stored.WakeAt))
	} else {
		fmt.Fprintf(&out, ": %s", outcomeText(stored.Value, stored.Error))
	}
	fmt.Fprintf(&out, "; in memory: %v; commits: %d\n", f.x.InMemory(row.ID), f.commits.count)
	entries, _, err := f.store.Entries(f.t.Context(), row.ID, 0, journal.PageLimit{Entries: 1000})
	require.NoError(f.t, err)
	for _, en := range entries {
		fmt.Fprintf(&out, "%d at %s, ", en.Seq, f.timeText(en.At))
		if en.Kind == journal.Moved {
			var m journal.Move
			require.NoError(f.t, abi.Unmarshal(en.Value, &m))
			fmt.Fprintf(&out, "moved from %s to %s", m.From, m.To)
			if len(m.Declined) > 0 {
				fmt.Fprintf(&out, ", declines %s", strings.Join(m.Declined, ", "))
			}
			fmt.Fprintln(&out)
			continue
		}
		if en.Kind == journal.Lost || en.Kind == journal.Released {
			fmt.Fprintf(&out, "op %d %s: %s, %d lost so far\n", en.Op.Number, en.Op.Kind, en.Kind, en.Attempts)
			continue
		}
		if en.Kind == journal.Attempt {
			fmt.Fprintf(&out, "op %d %s: attempt %d failed, next at %s\n", en.Op.Number, en.Op.Kind, en.Attempts, f.timeText(en.NextAt))
			continue
		}
		fmt.Fprintf(&out, "turn %d, op %d %s: %s\n", en.Turn, en.Op.Number, en.Op.Kind, outcomeText(en.Value, en.Error))
	}
	return out.String()
}

func (f *fixture) timeText(at int64) string {
	switch at {
	case journal.Now:
		return "now"
	case journal.Never:
		return "never"
	default:
		return "+" + time.Unix(0, at).Sub(f.start).String()
	}
}

// pendingText renders what a run waits for.
func (f *fixture) pendingText(in Inspection) string {
	var texts []string
	for _, p := range in.Pending {
		text := strings.TrimSpace(fmt.Sprintf("%d %s %s", p.Number, p.Kind, p.Name))
		if p.Attempt > 1 {
			text += fmt.Sprintf(" attempt %d", p.Attempt)
		}
		if !p.DueAt.IsZero() {
			text += " due " + f.timeText(p.DueAt.UnixNano())
		}
		texts = append(texts, text)
	}
	slices.Sort(texts)
	return strings.Join(texts, "; ")
}

// failingLoads is a store that cannot be read for a while.
type failingLoads struct {
	*memory.Store
	f *fixture
}

func (s *failingLoads) Deferreds(ctx context.Context, id journal.ID) ([]journal.Settlement, error) {
	if err := s.fail(); err != nil {
		return nil, err
	}
	return s.Store.Deferreds(ctx, id)
}

func (s *failingLoads) Deferred(ctx context.Context, id journal.ID, name string) (*journal.Deferred, error) {
	if err := s.fail(); err != nil {
		return nil, err
	}
	s.f.mu.Lock()
	s.f.reads++
	s.f.mu.Unlock()
	return s.Store.Deferred(ctx, id, name)
}

func (s *failingLoads) fail() error {
	s.f.mu.Lock()
	defer s.f.mu.Unlock()
	if s.f.noLoads == 0 {
		return nil
	}
	s.f.noLoads--
	return errors.New("no connection")
}
