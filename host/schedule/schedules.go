package schedule

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/faultpoint"
	"github.com/cruster/cruster/host/hostfault"
	"github.com/cruster/cruster/host/timer"
	"github.com/cruster/cruster/journal"
)

const (
	// maxAtWork bounds the schedules that are worked on at the same time.
	maxAtWork = 16
	// maxWoken is how many may wait to be worked on before the scan of the store waits.
	maxWoken = 1024

	firstRetry = time.Second
	lastRetry  = 30 * time.Second
)

// Starter starts executions and knows their outcomes.
type Starter interface {
	// CheckStart refuses a workflow that there is not and an input that does not fit, and returns the input as it is
	// stored.
	CheckStart(ctx context.Context, namespace, workflow string, input []byte) ([]byte, error)
	// Start starts an execution under a key, or finds the execution started under it; existed tells
	// which.
	Start(
		ctx context.Context, namespace, workflow, key string, input []byte,
	) (e *journal.Execution, existed bool, err error)
	// Poll reads an execution; abi.CodeExecutionNotFound if there is none.
	Poll(ctx context.Context, namespace, name string) (*journal.Execution, error)
	// Wait returns an execution once it has ended or paused.
	Wait(ctx context.Context, namespace, name string) (*journal.Execution, error)
	// Interrupt asks an execution to stop.
	Interrupt(ctx context.Context, namespace, name, reason string) error
}

// Store keeps schedules; it knows the fences. See [journal.ScheduleStore].
type Store interface {
	SaveSchedule(ctx context.Context, s journal.Schedule, most int) error
	DeleteSchedule(ctx context.Context, id journal.ID, version int64) error
	Schedule(ctx context.Context, id journal.ID) (*journal.Schedule, error)
	Schedules(ctx context.Context, namespace, after string, limit int) ([]journal.Schedule, error)
	DueSchedules(ctx context.Context, until int64, after journal.Wake, limit int) ([]journal.Wake, error)
}

// Timers wakes schedules at their time: see host/timer.
type Timers interface {
	Leave(id journal.ID, at int64)
}

// Deps are the dependencies of the room.
type Deps struct {
	Clock clockwork.Clock
	// Context ends when the host is to stop doing things at once.
	Context context.Context
	// Declared lists the declarations of the deployed module of a deployment: see [Declared].
	Declared func(ctx context.Context, namespace, deployment string) ([]journal.Schedule, error)
	Fault    faultpoint.Injector
	Logger   *slog.Logger
	Starter  Starter
	Store    Store
	Timers   Timers
}

// Schedules is the room of all schedules of a host. A schedule is not kept in memory: it is read when there is
// something to do about it.
type Schedules struct {
	Deps
	slots     chan struct{} // capacity maxAtWork
	recovered chan struct{} // closed once all schedules due at the start have been looked at

	mu      sync.Mutex
	busy    map[journal.ID]chan struct{} // guarded by mu, like all below; closed when it is free
	woken   map[journal.ID]bool          // a task for it is on its way
	stuck   int                          // how many of these tasks wait before they try again
	watched map[journal.ID]*watch        // the runs; one has to end
	known   map[journal.ID]int64         // the version that this host has written or adopted
	closed  bool
	scanned bool

	latest    int64 // the latest time that this host has written
	reviewing bool  // see review
	tasks     sync.WaitGroup
	first     sync.WaitGroup // the tasks that began before scanned was set
}

// New makes the room. It does nothing before it is woken.
func New(deps Deps) *Schedules {
	return &Schedules{
		Deps:      deps,
		slots:     make(chan struct{}, maxAtWork),
		recovered: make(chan struct{}),
		busy:      map[journal.ID]chan struct{}{},
		woken:     map[journal.ID]bool{},
		watched:   map[journal.ID]*watch{},
		known:     map[journal.ID]int64{},
	}
}

// EnsureInMemory has a schedule looked at, on another goroutine.
func (r *Schedules) EnsureInMemory(id journal.ID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || r.woken[id] {
		return
	}
	r.woken[id] = true
	first := !r.scanned
	if first {
		r.first.Add(1)
	}
	known := sync.OnceFunc(func() {
		if first {
			r.first.Done()
		}
	})
	r.tasks.Go(func() {
		defer known()
		r.work(id, known)
	})
}

// InMemory tells whether a schedule is about to be looked at.
func (r *Schedules) InMemory(id journal.ID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.woken[id]
}

// HasRoom tells whether another schedule can be woken.
func (r *Schedules) HasRoom() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.woken)-r.stuck < maxWoken
}

// Scanned says that a scan has woken all schedules that are due.
func (r *Schedules) Scanned() {
	r.noticeClock()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.scanned || r.closed {
		return
	}
	r.scanned = true
	r.tasks.Go(func() {
		r.first.Wait()
		if r.Context.Err() == nil {
			close(r.recovered)
		}
	})
}

// Recovered is closed once this host has adopted the starts of every schedule that was due when it
// started: it knows every run that an earlier host has started.
func (r *Schedules) Recovered() <-chan struct{} { return r.recovered }

// Close waits for work in flight, once the context has ended.
func (r *Schedules) Close() {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.tasks.Wait()
}

// work looks at a schedule until that succeeds. It tells once its runs are known.
func (r *Schedules) work(id journal.ID, known func()) {
	for retry := firstRetry; ; retry = min(2*retry, lastRetry) {
		err := hostfault.Try(func() error { return r.attempt(id, known) })
		if f, is := r.isFault(id, err); is {
			err = hostfault.Try(func() error { return r.pauseFaulty(r.Context, id, f) })
		}
		if err == nil || r.Context.Err() != nil {
			return
		}
		r.Logger.Warn("working on a schedule failed; trying again", "schedule", id, "error", err)
		r.addStuck(id, 1)
		timer.Wait(r.Context, r.Clock, retry)
		r.addStuck(id, -1)
	}
}

// addStuck counts a task that is about to wait, or has waited, before it tries again.
func (r *Schedules) addStuck(id journal.ID, n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.woken[id] = true // this task is on its way
	r.stuck += n
}

func (r *Schedules) attempt(id journal.ID, known func()) error {
	select {
	case r.slots <- struct{}{}:
		defer func() { <-r.slots }()
	case <-r.Context.Done():
		return r.Context.Err()
	}
	release, err := r.acquire(r.Context, id)
	if err != nil {
		return err
	}
	defer release()
	// A waker from now on may know something that this attempt does not see.
	r.mu.Lock()
	delete(r.woken, id)
	r.mu.Unlock()
	s, err := r.Store.Schedule(r.Context, id)
	switch {
	case errors.Is(err, journal.ErrNotFound):
		return nil
	case errors.Is(err, journal.ErrCorrupt):
		r.Logger.Error("a schedule does not decode; it is left alone", "schedule", id, "error", err)
		return nil
	case err != nil:
		return err
	}
	if isMarker(s.Name) {
		known() // it has no runs
		return r.redeclare(r.Context, s)
	}
	p, err := r.open(r.Context, s)
	if err != nil || p == nil {
		return err
	}
	known()
	return r.advance(r.Context, p)
}

// acquire waits until no one else works on a schedule.
func (r *Schedules) acquire(ctx context.Context, id journal.ID) (release func(), err error) {
	for {
		r.mu.Lock()
		free, taken := r.busy[id]
		if !taken {
			free = make(chan struct{})
			r.busy[id] = free
			r.mu.Unlock()
			return func() {
				r.mu.Lock()
				defer r.mu.Unlock()
				delete(r.busy, id)
				close(free)
			}, nil
		}
		r.mu.Unlock()
		select {
		case <-free:
		case <-ctx.Done():
			return nil, abi.Errorf(abi.CodeDeadline, "the schedule is at work")
		}
	}
}

// open makes a plan of a schedule all of whose runs are known. It is nil for an invalid schedule.
func (r *Schedules) open(ctx context.Context, s *journal.Schedule) (*plan, error) {
	p, err := newPlan(s, r.Clock.Now().UnixNano())
	if err != nil {
		r.Logger.Error(
			"a schedule is not valid; it is left alone", "schedule", s.Name, "namespace", s.Namespace, "error", err,
		)
		return nil, nil
	}
	if err := r.adopt(ctx, p); err != nil {
		return nil, err
	}
	p.rewind()
	return p, nil
}

// advance performs all due actions of a schedule, and has it woken for the next.
func (r *Schedules) advance(ctx context.Context, p *plan) error {
	for {
		if err := r.lookAtRuns(ctx, p); err != nil {
			return err
		}
		open := len(p.State.Open)
		for act := p.next(); act.kind != actNothing || p.changed; act = p.next() {
			if err := r.perform(ctx, p, act); err != nil {
				return err
			}
		}
		// To start many takes a while, in which earlier ones end. Nothing was started if none did.
		if !p.isHeld() || len(p.State.Open) == open {
			r.arm(p)
			return nil
		}
	}
}

// perform performs one action. Decisions so far are committed before a start: see invariant 3.
func (r *Schedules) perform(ctx context.Context, p *plan, act action) error {
	if p.changed {
		if err := r.commit(ctx, p); err != nil {
			return err
		}
	}
	switch act.kind {
	case actStart:
		return r.start(ctx, p, act.start)
	case actInterrupt:
		return r.interrupt(ctx, p, act.interrupt)
	case actLook:
		return r.look(ctx, p, act.start)
	default:
		return nil
	}
}

// start is the first commit of a start, and the second.
func (r *Schedules) start(ctx context.Context, p *plan, st start) error {
	r.Fault.Pass(faultpoint.ScheduleBeforeStart)
	e, existed, err := r.Starter.Start(ctx, p.Namespace, p.Spec.Workflow, p.keyOf(st), p.Input)
	switch {
	case err == nil:
		r.Fault.Pass(faultpoint.ScheduleAfterStart)
		p.begun(st, e.State, existed)
		if e.State.Final() {
			p.over(e.Name(), e.State, e.FinishedAt)
		}
	case abi.IsTransient(err) || abi.CodeOf(err) == abi.CodeInternal: // the tick waits until the host can start it
		r.forget(p.ID()) // it may have been started all the same
		return err
	default:
		r.Logger.Warn(
			"a schedule could not start its workflow", "schedule", p.Name, "namespace", p.Namespace, "error", err,
		)
		p.refused(st, abi.AsError(err))
	}
	return r.commit(ctx, p)
}

func (r *Schedules) interrupt(ctx context.Context, p *plan, i int) error {
	err := r.Starter.Interrupt(
		ctx, p.Namespace, p.State.Open[i].Execution, "the next run of schedule "+p.Name+" is due",
	)
	if code := abi.CodeOf(err); err != nil && code != abi.CodeAlreadyOver && code != abi.CodeExecutionNotFound {
		return err
	}
	p.State.Open[i].Interrupted = true
	return r.lookAtRuns(ctx, p)
}

// commit writes the row.
func (r *Schedules) commit(ctx context.Context, p *plan) error {
	r.Fault.Pass(faultpoint.ScheduleBeforeCommit)
	p.Version++
	p.WakeAt = p.wakeAt()
	if err := r.Store.SaveSchedule(ctx, *p.Schedule, MaxSchedules); err != nil {
		r.forget(p.ID())
		return err
	}
	r.know(p.Schedule)
	r.mu.Lock()
	r.latest = max(r.latest, p.now)
	r.mu.Unlock()
	p.changed = false
	r.Fault.Pass(faultpoint.ScheduleAfterCommit)
	return nil
}

// know notes that this host knows all starts of a schedule of this version.
func (r *Schedules) know(s *journal.Schedule) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.known[s.ID()] = s.Version
}

func (r *Schedules) forget(id journal.ID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.known, id)
}

// arm has a schedule woken for its next tick, and when the run that it waits for has ended.
func (r *Schedules) arm(p *plan) {
	at := p.nextDue()
	if p.Spec.Always {
		at = p.wakeAt()
	}
	if at > p.now {
		r.Timers.Leave(p.ID(), at)
	} else if at == journal.Now {
		r.Timers.Leave(p.ID(), journal.Never)
	}
	if p.awaitsEnd() {
		r.watch(p.Schedule)
	}
}
