package execution

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/budget"
	"github.com/cruster/cruster/host/faultpoint"
	"github.com/cruster/cruster/host/guest"
	"github.com/cruster/cruster/host/hibernation"
	"github.com/cruster/cruster/host/hoststate"
	"github.com/cruster/cruster/host/recovery"
	"github.com/cruster/cruster/host/timer"
	"github.com/cruster/cruster/host/watch"
	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/journal/memory"
)

// turnTimeout is how long a guest may compute.
const turnTimeout = time.Hour

// fixture is a host whose guests follow scripts and whose activities end when the test says so. Store, committer,
// timers and time are real; in a synctest bubble time is virtual. What happens is noted, in order.
type fixture struct {
	t     *testing.T
	store journal.Store
	start time.Time

	x        *Executions
	life     *hoststate.State
	timers   *timer.Heap
	watchers *watch.List
	commits  *scriptedCommitter
	// committer is what executions commit with: commits, unless a test puts another in its place.
	committer *replaceableCommitter
	// stored is what executions read: the store, unless a test puts another in its place.
	stored   *replaceableStore
	evicting bool
	// serial is a host that takes no first turn before its start is durable.
	serial bool
	// idle is how long instances stay warm: an hour, unless a test says otherwise.
	idle time.Duration
	// hibernation says when states are saved: never, unless a test says otherwise.
	hibernation hibernation.Policy
	// memory is how many instances there may be.
	memory int64
	// scanning is a host that recovers as real ones do, from its beginning on and each minute.
	scanning bool
	scanned  chan struct{} // closed when the scans have ended; nil if there are none

	guests      Opener
	maxOutcomes int64 // see [Deps]; 0 is no limit
	programs    *scriptedPrograms
	activities  Activities

	mu      sync.Mutex
	scripts map[string][]string    // guarded by mu; by workflow, one line a turn
	traps   int                    // guarded by mu; calls of guests that trap from now on
	missing bool                   // guarded by mu; the module cannot be found
	tasks   map[uint32]chan string // guarded by mu; activities that run, by op
	noted   map[string][]string    // guarded by mu
	noLoads int                    // guarded by mu; how many reads of deferreds fail from now on
	noStops int                    // guarded by mu; how many reads of requests to stop
	reads   int                    // guarded by mu; values of deferreds that were read
	panicAt string                 // guarded by mu; the fault point at which the host panics once
	// guarded by mu; the fault point at which retention deletes finished executions, once
	sweepAt string
	// startOverAt is the fault point at which startOverOf, which is over, starts over, once.
	startOverAt  string             // guarded by mu
	startOverOf  *journal.Execution // guarded by mu
	opening      func()             // guarded by mu; what happens while the next guest is opened
	looked       map[string]func()  // guarded by mu; what happens behind the next look for an inbox or a receipt
	slow         int                // guarded by mu; calls of guests that take 200ms from now on
	crowd        chan struct{}      // closed to have other guests end; nil if there are none
	starts       chan struct{}      // guarded by mu; closed to have calls start their callees; nil if they may
	startsBehind chan struct{}      // if set, calls wait until it is closed once they have started their callees
	// committing is what happens while the next transaction of an activity commits.
	committing func()                 // guarded by mu
	asked      map[journal.Caller]int // guarded by mu; what entities were asked for
	late       chan string            // guarded by mu; the activity that goes on although it was given up
}

func newFixture(t *testing.T) *fixture { return newFixtureOf(t, nil, nil) }

// newFixtureOf is a fixture with guests and activities of other kinds, if they are given.
func newFixtureOf(t *testing.T, guests Opener, activities Activities) *fixture {
	return newFixtureOn(t, memory.New(), guests, activities)
}

// newFixtureOn is a fixture over a store.
func newFixtureOn(t *testing.T, store journal.Store, guests Opener, activities Activities) *fixture {
	f := &fixture{
		idle:        time.Hour,
		hibernation: hibernation.Policy{Entries: -1},
		memory:      100,
		t:           t,
		store:       store,
		start:       time.Now(),
		guests:      guests,
		activities:  activities,
		asked:       map[journal.Caller]int{},
		looked:      map[string]func(){},
		scripts:     map[string][]string{},
		tasks:       map[uint32]chan string{},
		noted:       map[string][]string{},
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
	f.committer, f.stored = &replaceableCommitter{f.commits}, &replaceableStore{&failingLoads{f.store, f}}
	f.watchers = watch.NewList()
	f.timers = timer.New(clock, func(id journal.ID) { f.x.Wake(id) }, nil)
	f.programs = &scriptedPrograms{f: f, open: f.guests, workflow: workflowOf}
	f.x = New(Deps{
		Activities:    f.activities,
		Clock:         clock,
		Committer:     f.committer,
		EvictAlways:   f.evicting,
		NoHeadStarts:  f.serial,
		Fault:         f.pass,
		Hibernation:   f.hibernation,
		IdleTimeout:   f.idle,
		Host:          f.life,
		Logger:        slog.New(&guestLines{f: f}),
		MaxActivities: 100,
		MaxOutcomes:   f.maxOutcomes,
		Memory:        budget.New(f.memory),
		Programs:      f.programs,
		Queued:        budget.New(100 << 20),
		Random:        func() float64 { return 0 },
		Registerer:    prometheus.NewRegistry(),
		Slots:         guest.NewSlots(clock, turnTimeout),
		Store:         f.stored,
		Timers:        f.timers,
		Watchers:      f.watchers,
	})
	f.x.SetEntities(f) // as the engine does
	f.life.MarkStarted()
	f.watchers.Add(rowOf("w", "k").ID, func(row *journal.Execution) bool {
		f.noteOnce("w", fmt.Sprintf("watchers are told: %s %s", row.State, outcomeText(row.Value, row.Error)))
		return false
	})
	go f.timers.Run(f.life.Context())
	f.scanned = nil
	if f.scanning {
		f.scan()
	}
}

// scan has the host recover due executions.
func (f *fixture) scan() {
	scanned, ctx := make(chan struct{}), f.life.Context()
	f.scanned = scanned
	s := &recovery.Scanner{
		Clock:       clockwork.NewRealClock(),
		Executions:  f.x,
		HasRoom:     func() bool { return true },
		Logger:      slog.New(slog.DiscardHandler),
		Mail:        f.store,
		Store:       f.store,
		Timers:      f.timers,
		WakeForMail: f.x.WakeForMail,
	}
	go func() {
		defer close(scanned)
		s.Run(ctx)
	}()
}

// guestLines records the log lines of guests, and of the host about their failures.
type guestLines struct {
	slog.Handler
	f       *fixture
	crashed bool
}

func (*guestLines) Enabled(context.Context, slog.Level) bool { return true }

func (h *guestLines) WithGroup(string) slog.Handler { return h }

func (h *guestLines) WithAttrs(attrs []slog.Attr) slog.Handler {
	crashed := slices.ContainsFunc(attrs, func(a slog.Attr) bool { return a.Key == "crashed" && a.Value.Bool() })
	return &guestLines{f: h.f, crashed: h.crashed || crashed}
}

func (h *guestLines) Handle(_ context.Context, r slog.Record) error {
	said, guests := strings.CutPrefix(r.Message, logPrefix)
	switch {
	case guests && h.crashed:
		h.f.note("w", "logged, in a turn that crashed: %s", said)
	case guests:
		h.f.note("w", "logged: %s", said)
	case slices.Contains(
		[]string{"an attempt failed; trying again", "an activity failed", "the workflow failed"}, r.Message,
	):
		h.f.note("w", "the host logs: %s %s%s", r.Level, r.Message, attrsText(r))
	}
	return nil
}

// attrsText is the attributes of a line of the log.
func attrsText(r slog.Record) string {
	text := ""
	r.Attrs(func(a slog.Attr) bool {
		text += " " + a.String()
		return true
	})
	return text
}

// workflowOf is what scripts declare. The one named "typed" tells of its deferreds.
func workflowOf(_ context.Context, row *journal.Execution) (*abi.WorkflowInfo, error) {
	var deferreds []abi.DeferredInfo
	if _, name, _ := strings.Cut(row.Workflow, "/"); name == "typed" {
		deferreds = []abi.DeferredInfo{{Name: "d", Value: &abi.Schema{Type: abi.TypeString}}}
	}
	state := []abi.StateInfo{{Name: "note"}, {Name: "stage", Value: &abi.Schema{Type: abi.TypeString}}}
	for i := range livesTurns {
		state = append(state, abi.StateInfo{Name: fmt.Sprint("turn", i)})
	}
	return &abi.WorkflowInfo{
		Deferreds: deferreds,
		Name:      "w",
		Attributes: []abi.AttributeInfo{
			{Name: "amount", Type: abi.AttributeNumber}, {Name: "customer", Type: abi.AttributeText},
		},
		State: state,
	}, nil
}

// pass waits at a fault point, or panics there, if the test says so.
func (f *fixture) pass(point string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if behind := f.startsBehind; behind != nil && point == faultpoint.CallAfter {
		f.mu.Unlock()
		select {
		case <-behind:
		case <-f.life.Context().Done():
		}
		f.mu.Lock()
	}
	if f.sweepAt == point {
		f.sweepAt = ""
		_, err := f.store.Sweep(f.t.Context(), f.commits.fences, journal.Never, 100)
		require.NoError(f.t, err)
	}
	if f.startOverAt == point {
		f.startOverAt = ""
		of, err := f.store.Load(f.t.Context(), f.startOverOf.ID)
		require.NoError(f.t, err)
		next := f.startOverOf
		results, err := f.store.Commit(f.t.Context(), []journal.Write{{
			ID: next.ID, Run: next.Run, Start: next, Replace: of.Run, Fence: f.commits.fences[next.ID.Shard()],
		}})
		require.NoError(f.t, err)
		require.Equal(f.t, []journal.Result{{}}, results)
	}
	if f.panicAt == point {
		f.panicAt = ""
		panic("injected at " + point)
	}
}

// settled puts a settlement into the inbox of a run that is not in the registry, and returns the notice of it.
func (f *fixture) settled(t testing.TB, r *run, d journal.Deferred) notice {
	t.Helper()
	row, err := f.store.Load(t.Context(), r.id)
	require.NoError(t, err)
	reading, release, err := f.x.shared.inboxes.Share(t.Context(), r.id)
	require.NoError(t, err)
	defer release()
	w := journal.Write{ID: row.ID, Run: row.Run, Chain: row.Chain, Receive: d.Message()}
	res, err := f.commits.Commit(w)
	require.NoError(t, err)
	require.False(t, res.Existed)
	m := *w.Receive
	m.Position = res.Position
	return arrivalOf(m, reading, nil)
}

// end stops the host as a crash would, and waits for its goroutines.
func (f *fixture) end() {
	f.life.Drain()
	f.x.Close()
	f.life.End()
	<-f.x.Idle()
	if f.scanned != nil {
		<-f.scanned
	}
	f.x.DropGuests()
	// A caller whose start was in vain may be about to give its instance back.
	require.Eventually(
		f.t, func() bool { return f.x.Memory.Used() == 0 }, time.Minute, time.Millisecond, "instances were lost",
	)
}

// note records an event of an execution. The events of each are in order.
func (f *fixture) note(whom, format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.noted[whom] = append(f.noted[whom], fmt.Sprintf(format, args...))
}

// noteOnce records an event of an execution, unless it equals the last. Watchers may be told again
// when a finished run is loaded for late messages.
func (f *fixture) noteOnce(whom, text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if notes := f.noted[whom]; len(notes) == 0 || notes[len(notes)-1] != text {
		f.noted[whom] = append(notes, text)
	}
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
		ID:        journal.IDOf("default", "scripts/"+workflow, key),
		Run:       run,
		Chain:     run,
		Namespace: "default",
		Workflow:  "scripts/" + workflow,
		Key:       key,
		Digest:    "script",
		Input:     abi.Nil,
		State:     journal.Running,
		WakeAt:    journal.Now,
		CreatedAt: now,
		Pinned:    journal.Pinned{Format: journal.CurrentFormat, Seed: run, Time: now},
	}
}

func outcomeText(value []byte, err *abi.Error) string {
	if err != nil {
		return err.Error()
	}
	if len(value) > 64<<10 {
		return fmt.Sprintf("%d bytes", len(value)) // to write a megabyte out takes longer than the test
	}
	var v any
	if abi.Unmarshal(value, &v) != nil {
		return fmt.Sprintf("%x", value)
	}
	return fmt.Sprint(v)
}

// show renders the row, the journal and the state in memory.
func (f *fixture) show(row *journal.Execution) string {
	var out strings.Builder
	stored, err := f.store.Load(f.t.Context(), row.ID)
	if row.Superseded > 0 {
		stored, err = f.store.FindRun(f.t.Context(), row.ID, row.Run)
	}
	if err != nil {
		return err.Error() + "\n"
	}
	fmt.Fprintf(&out, "%s", stored.State)
	if stored.State == journal.Running {
		fmt.Fprintf(&out, ", wake %s", f.timeText(stored.WakeAt))
	} else {
		fmt.Fprintf(&out, ": %s", outcomeText(stored.Value, stored.Error))
	}
	if stored.Section != (journal.StepID{}) {
		fmt.Fprint(&out, "; in a section")
	}
	fmt.Fprintf(&out, "; in memory: %v; commits: %d\n", stored.Superseded == 0 && f.x.InMemory(row.ID), f.commits.count)
	entries, _, err := f.store.Entries(f.t.Context(), stored.RunKey(), 0, journal.PageLimit{Entries: 1000})
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
			fmt.Fprintf(
				&out, "op %d %s: attempt %d failed, next at %s\n", en.Op.Number, en.Op.Kind, en.Attempts,
				f.timeText(en.NextAt),
			)
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

// showChild renders the row of the callee of a call of a workflow.
func (f *fixture) showChild(workflow string) string {
	row, err := f.store.Load(f.t.Context(), rowOf(workflow, "child").ID)
	if err != nil {
		return err.Error() + "\n"
	}
	text := string(row.State)
	if row.State.Final() {
		text += ": " + outcomeText(row.Value, row.Error)
	}
	if row.Interrupt != nil {
		text += "; asked to stop: " + row.Interrupt.Reason
	}
	return text + "\n"
}

// pendingText renders the pending ops of a run.
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

// Call implements Entities. The store is away when it is asked for a step for the first time.
func (f *fixture) Call(
	_ context.Context, caller *journal.Execution, step journal.Caller, call *abi.EntityMessage, _ <-chan struct{},
) (abi.Outcome, error) {
	if err := f.Send(context.Background(), caller, step, call); err != nil {
		return abi.Outcome{}, err
	}
	return abi.Outcome{Value: abi.MustMarshal("done")}, nil
}

// Lock implements Entities. Locks of "refused" are refused, and those of "held" wait until their step leaves memory.
func (f *fixture) Lock(
	ctx context.Context, _ *journal.Execution, step journal.Caller, lock *abi.Lock, left <-chan struct{},
) error {
	in, err := f.store.InSection(context.Background(), step) // also while the host ends
	require.NoError(f.t, err)
	f.note("E", "entities %v are locked, in the section: %v", lock.Entities, in)
	switch lock.Entities[0] {
	case "E/refused":
		return abi.Errorf(abi.CodeCannotLock, "no")
	case "E/held":
		select {
		case <-left:
			return ErrLeft
		case <-ctx.Done():
			f.note("E", "the lock is withdrawn")
			return ctx.Err()
		}
	}
	return nil
}

// Unlocked implements Entities.
func (f *fixture) Unlocked(step journal.Caller) {
	in, err := f.store.InSection(context.Background(), step)
	require.NoError(f.t, err)
	f.note("w", "entities are told that a section is over: %v", !in)
}

// Send implements Entities.
func (f *fixture) Send(
	_ context.Context, caller *journal.Execution, step journal.Caller, call *abi.EntityMessage,
) error {
	f.mu.Lock()
	f.asked[step]++
	times := f.asked[step]
	f.mu.Unlock()
	section := ""
	if caller.Section != (journal.StepID{}) {
		section = " in a section"
	}
	f.note("E", "entity %s is asked to %s%s, %d", call.Entity, call.Operation, section, times)
	switch {
	case call.Operation == "refuse":
		return abi.Errorf(abi.CodeBadInput, "it does not fit")
	case times == 1:
		return abi.Errorf(abi.CodeStore, "no connection")
	}
	return nil
}

// deliverOutOf replaces the budget Delivering.
func (f *fixture) deliverOutOf(b *budget.Budget) {
	f.x.Delivering, f.x.Recoder.Delivering, f.x.shared.instances.Guests.Delivering = b, b, b
	f.x.shared.states.Delivering, f.x.shared.tasks.Delivering = b, b
}
