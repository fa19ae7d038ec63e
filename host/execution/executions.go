package execution

import (
	"cmp"
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/semaphore"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/activity"
	"github.com/cruster/cruster/host/actor"
	"github.com/cruster/cruster/host/admission"
	"github.com/cruster/cruster/host/budget"
	"github.com/cruster/cruster/host/decide"
	"github.com/cruster/cruster/host/execution/request"
	"github.com/cruster/cruster/host/faultpoint"
	"github.com/cruster/cruster/host/follow"
	"github.com/cruster/cruster/host/guest"
	"github.com/cruster/cruster/host/hibernation"
	"github.com/cruster/cruster/host/hoststate"
	"github.com/cruster/cruster/host/program"
	"github.com/cruster/cruster/host/residency"
	"github.com/cruster/cruster/host/timer"
	"github.com/cruster/cruster/host/watch"
	"github.com/cruster/cruster/journal"
)

// Store is the part of the store that executions read: see [journal.Store]. They write through a
// [Committer].
type Store interface {
	Callee(ctx context.Context, step journal.Caller) (*journal.Execution, error)
	Children(ctx context.Context, run journal.RunID, after journal.ID, limit int) ([]journal.Execution, error)
	Hibernated(ctx context.Context, run journal.RunKey) (*journal.Hibernated, error)
	FindMessage(ctx context.Context, to journal.Receiver, origin journal.Origin) (*journal.FoundMessage, error)
	Inbox(ctx context.Context, to journal.Receiver, after uint64) ([]journal.Envelope, error)
	Message(ctx context.Context, to journal.Receiver, position uint64) (*journal.Message, error)
	Receipt(ctx context.Context, id journal.ID, origin journal.Origin) (*journal.Receipt, error)
	journal.PublishedReader
	journal.EntryReader
	Brief(ctx context.Context, id journal.ID) (*journal.Execution, error)
	BriefRun(ctx context.Context, id journal.ID, run journal.RunID) (*journal.Execution, error)
	FindRun(ctx context.Context, id journal.ID, run journal.RunID) (*journal.Execution, error)
	Load(ctx context.Context, id journal.ID) (*journal.Execution, error)
	Requested(ctx context.Context, id journal.ID, request journal.Origin) (*journal.Execution, error)
}

// Committer makes one write durable, fenced by the epoch of its shard.
type Committer interface {
	Commit(w journal.Write) (journal.Result, error)
	// Shares tells whether a write would share its commit with many others, so that it would cost less than as a part
	// of the transaction of an activity.
	Shares() bool
}

// Activities performs the attempts of activities.
type Activities interface {
	Perform(ctx context.Context, task activity.Task) activity.Report
}

// Timers wakes executions: see host/timer.
type Timers interface {
	Set(id journal.ID, at int64)
	Leave(id journal.ID, at int64)
}

// Programs finds the code of executions: see [program.Programs].
type Programs interface {
	Open(ctx context.Context, row *journal.Execution) (Opening, error)
	Workflow(ctx context.Context, row *journal.Execution) (*abi.WorkflowInfo, error)
	CheckSignal(ctx context.Context, row *journal.Execution, name string, value []byte) ([]byte, error)
	Callee(
		ctx context.Context, caller *journal.Execution, step journal.Caller, call *abi.Call, awaited bool,
	) (*journal.Execution, error)
	Continuation(ctx context.Context, row *journal.Execution, input []byte) (journal.Continuation, error)
}

var _ Programs = (*program.Programs)(nil)

// Deps are the dependencies of executions.
type Deps struct {
	Activities Activities
	Clock      clockwork.Clock
	Committer  Committer
	// Delivering is the budget of large values on their way from the store to a guest: see
	// input.go. Defaults to as much as Queued.
	Delivering *budget.Budget
	// CompareRestored, if set, is handed the state of every restored guest, and the state of the
	// same guest replayed. It is for tests.
	CompareRestored func(restored, replayed *guest.Saved)
	Entities        Entities
	// EvictAlways drops the instance after every turn. It is for tests.
	EvictAlways bool
	Fault       faultpoint.Injector
	// Followers get the log lines of workflows; nil means that there are none.
	Followers *follow.List
	// Hibernation decides when the states of guests are saved.
	Hibernation hibernation.Policy
	// IdleTimeout is how long an instance stays warm without use.
	IdleTimeout time.Duration
	Host        *hoststate.State
	Logger      *slog.Logger
	// MaxActivities bounds the attempts of activities that run at the same time.
	MaxActivities int
	// MaxOutcomes is how many bytes of outcomes may wait for their delivery before no further attempt of an activity,
	// or read of an outcome, begins. 0 is no limit.
	MaxOutcomes int64
	// MaxEntries bounds a journal. Defaults to abi.MaxEntries.
	MaxEntries uint64
	// MaxInMemory bounds the executions in memory: see HasRoom. 0 is no limit.
	MaxInMemory int
	// Memory is the budget of instances.
	Memory *budget.Budget
	// NoHeadStarts has first turns wait until their start is durable. It is for tests.
	NoHeadStarts bool
	Programs     Programs
	// Queued is the budget of the ops that executions wait for. It is not Memory: an execution
	// holds it while activities that it waits for need instances.
	Queued *budget.Budget
	// Random yields numbers from 0 to 1, for jitter.
	Random     func() float64
	Registerer prometheus.Registerer
	Slots      *guest.Slots
	Store      Store
	Timers     Timers
	Watchers   *watch.List
}

// now is the wall clock, Unix nanoseconds.
func (d *Deps) now() int64 { return d.Clock.Now().UnixNano() }

// decider commits writes until it is decided whether they took effect.
func (d *Deps) decider() decide.Writer {
	return decide.Writer{Clock: d.Clock, Commit: d.Committer.Commit, Host: d.Host, Logger: d.Logger}
}

// maxAtWork bounds the executions at work at the same time. Those that wait for the store or for memory count, so it is
// far more than compute.
const maxAtWork = 1024

// Executions is all executions of a host. Those that have something to do are in memory.
type Executions struct {
	*Deps
	// Ends has callers wait for the ends of executions.
	Ends request.Ends
	// Inspector looks into executions.
	Inspector *Inspector
	// Messages puts the messages of callers into inboxes.
	Messages *request.Sender
	// Operator does as operators ask.
	Operator *Operator
	// Queries asks executions questions.
	Queries *Queries
	// Recoder tries executions on other code, and forks them.
	Recoder *Recoder
	// Rows finds the rows of executions.
	Rows request.Rows
	// Stops ends executions.
	Stops *Stops
	// Updates sends updates and waits for their answers.
	Updates *request.Updates

	metrics     *metrics
	guests      *guests
	born        int64 // when this host began
	codec       hibernation.Codec
	saving      *semaphore.Weighted          // states that are being saved
	restoring   *semaphore.Weighted          // states that guests are being made of
	alone       *semaphore.Weighted          // for attempts that run alone: see lostattempts.go
	group       actor.TaskGroup              // the goroutines of runs and of their tasks
	performing  *actor.FairQueue[journal.ID] // the attempts of activities, by execution
	reading     *actor.FairQueue[journal.ID] // reads of outcomes of other executions, by the execution that reads
	runs        *registry
	resident    *residency.List
	publisher   publisher
	starter     *starter
	eagerStarts eagerStarts
	inboxLocks  request.InboxLocks
	starts      starts
	outcomes    outcomes
	leaving     atomic.Int64 // counts evicted executions that are leaving memory
}

// New returns executions, none of them in memory.
func New(deps Deps) *Executions {
	deps.MaxEntries = cmp.Or(deps.MaxEntries, abi.MaxEntries)
	if deps.Delivering == nil {
		deps.Delivering = budget.New(deps.Queued.Total())
	}
	x := &Executions{
		Deps:    &deps,
		metrics: newMetrics(deps.Registerer),
		born:    deps.Clock.Now().UnixNano(),
		alone:   semaphore.NewWeighted(1),
	}
	x.guests = &guests{deps: x.Deps, metrics: x.metrics}
	x.saving, x.restoring = semaphore.NewWeighted(maxSaving), semaphore.NewWeighted(maxRestoring)
	x.performing = actor.NewFairQueue[journal.ID](&x.group, deps.MaxActivities)
	x.reading = actor.NewFairQueue[journal.ID](&x.group, maxReading)
	x.outcomes.limit, x.outcomes.queues = deps.MaxOutcomes, []*actor.FairQueue[journal.ID]{x.performing, x.reading}
	x.runs = actor.NewRegistry(
		actor.NewFairQueue[journal.ID](&x.group, maxAtWork), func(id journal.ID) *run { return newRun(x, id) },
		func(n int) { x.metrics.inMemory.Set(float64(n)) },
	)
	x.runs.RestBy(x.after)
	x.Rows = request.Rows{Store: deps.Store}
	x.Ends = request.Ends{Host: deps.Host, Rows: x.Rows, Watchers: deps.Watchers}
	x.Messages = &request.Sender{
		Clock:     deps.Clock,
		Committer: deps.Committer,
		Fault:     deps.Fault,
		Group:     &x.group,
		Host:      deps.Host,
		Locks:     &x.inboxLocks,
		Logger:    deps.Logger,
		Rows:      x.Rows,
		Runs:      notifier{x.runs},
		Workflows: deps.Programs,
	}
	x.resident = residency.New(residency.Config{
		Budget:      deps.Memory,
		Clock:       deps.Clock,
		Evict:       x.evict,
		IdleTimeout: deps.IdleTimeout,
		Registerer:  deps.Registerer,
	})
	runs := asker{deps: x.Deps, rows: x.Rows, runs: x.runs}
	x.Inspector = &Inspector{deps: x.Deps, runs: x.runs}
	x.Operator = &Operator{messages: x.Messages, runs: runs}
	x.Stops = &Stops{ending: actor.NewFairQueue[journal.RunID](&x.group, maxEnding), messages: x.Messages, runs: runs}
	x.Queries = newQueries(x.Deps, x.runs, x.guests, x.resident)
	x.Updates = request.NewUpdates(x.Messages, x.Queries)
	x.starter = &starter{
		deps:     x.Deps,
		eager:    &x.eagerStarts,
		group:    &x.group,
		guests:   x.guests,
		messages: x.Messages,
		rows:     x.Rows,
		runs:     x.runs,
		started:  x.metrics.started,
	}
	x.publisher = publisher{x.Deps}
	x.Recoder = &Recoder{
		deps: x.Deps, guests: x.guests, publisher: x.publisher, resident: x.resident, rows: x.Rows, starter: x.starter,
	}
	deps.Memory.ReclaimBy(x.reclaim)
	return x
}

// EvictIdle drops instances that were not used for a while, until ctx ends.
func (x *Executions) EvictIdle(ctx context.Context) { x.resident.Run(ctx) }

// MakeRoom has the execution leave memory that has waited longest, or drop its instance if it does more than wait. It
// reports whether that was so: then another may leave.
func (x *Executions) MakeRoom() (another bool) {
	before := x.leaving.Load()
	return x.resident.EvictOldest() && x.leaving.Load() == before
}

// HasRoom tells whether another execution fits into memory. If there is little room, or none, those
// that only wait leave memory: there may be room when it is asked again.
func (x *Executions) HasRoom() bool {
	return admission.Room{Limit: x.MaxInMemory, Count: x.Count, Make: x.MakeRoom}.Has()
}

// evict drops the instance of a run that is parked, and reports whether it did. One that works keeps it.
func (x *Executions) evict(id journal.ID) bool {
	var evicted *admitted
	var state *hibernating
	x.runs.WhileParked(id, func(r *run) (notice, bool) {
		state = r.hibernate(x.Hibernation.WhenDropped)
		if evicted = r.instance.take(); evicted != nil {
			r.instance.evicted = true
			r.wantToLeave()
			if len(r.tasks.all) == 0 || r.instance.departure.wanted {
				x.leaving.Add(1)
			}
		}
		return wake{}, evicted != nil // without an instance it may leave memory altogether
	})
	if evicted == nil {
		return false
	}
	x.save(state, evicted)
	evicted.Close() // which takes a while, and no lock is held
	x.Fault.Pass(faultpoint.Evict)
	return true
}

// Wake has an execution look around: a time of its has come.
func (x *Executions) Wake(id journal.ID) { x.runs.Post(id, wake{}) }

// Prepare has an execution whose time comes soon brought into memory, with its instance, so that it
// is not late by the load time. That is a luxury: where memory is short, it is loaded when its time
// has come.
func (x *Executions) Prepare(id journal.ID) {
	if x.Memory.Used() <= x.Memory.Total()/2 {
		x.runs.Post(id, soon{})
	}
}

// EnsureInMemory has an execution loaded if it is not in memory.
func (x *Executions) EnsureInMemory(id journal.ID) { x.runs.PostIfAbsent(id, wake{}) }

// InMemory tells whether an execution is in memory.
func (x *Executions) InMemory(id journal.ID) bool { return x.runs.Has(id) }

// Count counts the executions in memory.
func (x *Executions) Count() int { return x.runs.Len() }

// Idle is closed once no execution and no task works.
func (x *Executions) Idle() <-chan struct{} { return x.group.Idle() }

// Close lets no execution begin to work any more. Those that do go on until the host ends.
func (x *Executions) Close() { x.group.Close() }

// DropGuests closes all instances. No execution may be at work.
func (x *Executions) DropGuests() {
	x.runs.Each(func(r *run) {
		r.instance.drop()
		r.instance.releaseOps()
	})
	for h := x.eagerStarts.any(); h != nil; h = x.eagerStarts.any() {
		h.discard() // no run has begun to work for it
	}
}

// after calls f after a time, or when the host ends.
func (x *Executions) after(d time.Duration, f func()) {
	ctx, cancel := context.WithCancel(x.Host.Context())
	timer := x.Clock.AfterFunc(d, cancel)
	context.AfterFunc(ctx, func() {
		timer.Stop()
		f()
	})
}

// wait sleeps unless ctx ends first.
func (x *Executions) wait(ctx context.Context, d time.Duration) {
	timer.Wait(ctx, x.Clock, d)
}
