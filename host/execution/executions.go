package execution

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/actor"
	"github.com/cruster/cruster/host/budget"
	"github.com/cruster/cruster/host/execution/instance"
	"github.com/cruster/cruster/host/execution/publish"
	"github.com/cruster/cruster/host/execution/rebuild"
	"github.com/cruster/cruster/host/execution/recode"
	"github.com/cruster/cruster/host/execution/request"
	"github.com/cruster/cruster/host/execution/task"
	"github.com/cruster/cruster/host/residency"
	"github.com/cruster/cruster/journal"
)

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
	Recoder *recode.Recoder
	// Rows finds the rows of executions.
	Rows request.Rows
	// Starter starts executions.
	Starter *Starter
	// Stops ends executions.
	Stops *Stops
	// Updates sends updates and waits for their answers.
	Updates *request.Updates

	evictor *evictor
	group   actor.TaskGroup // the goroutines of runs and of their tasks
	runs    *registry
	shared  *runDeps // of the runs
}

// New returns executions, none of them in memory.
func New(deps Deps) *Executions {
	deps.MaxEntries = cmp.Or(deps.MaxEntries, abi.MaxEntries)
	if deps.Delivering == nil {
		deps.Delivering = budget.New(deps.Queued.Total())
	}
	x := &Executions{Deps: &deps, Rows: request.Rows{Store: deps.Store}}
	x.shared = &runDeps{
		Deps:      x.Deps,
		group:     &x.group,
		metrics:   newMetrics(deps.Registerer),
		publisher: publish.Publisher{Clock: deps.Clock, Workflows: deps.Programs},
		rows:      x.Rows,
	}
	x.runs = actor.NewRegistry(
		actor.NewFairQueue[journal.ID](&x.group, maxAtWork), func(id journal.ID) *run { return newRun(x.shared, id) },
		func(n int) { x.shared.metrics.inMemory.Set(float64(n)) },
	)
	x.runs.RestBy(x.after)
	x.evictor = &evictor{deps: x.shared, runs: x.runs}
	x.shared.boxes = x.runs
	x.shared.resident = residency.New(residency.Config{
		Budget:      deps.Memory,
		Clock:       deps.Clock,
		Evict:       x.evictor.evict,
		IdleTimeout: deps.IdleTimeout,
		Registerer:  deps.Registerer,
	})
	x.makeGuests()
	x.makeRequests()
	x.makeWork()
	deps.Memory.ReclaimBy(x.evictor.reclaim)
	return x
}

// makeGuests makes the services that have to do with guests.
func (x *Executions) makeGuests() {
	guests := instance.NewGuests(instance.GuestDeps{
		Delivering: x.Delivering,
		Memory:     x.Memory,
		Queued:     x.Queued,
		Registerer: x.Registerer,
		Slots:      x.Slots,
		Store:      x.Store,
	})
	x.shared.instances = &instance.Deps{
		Guests: guests, Memory: x.Memory, Open: x.Programs.Open, Resident: x.shared.resident,
	}
	x.shared.states = rebuild.NewStates(rebuild.Deps{
		Committer:       x.Committer,
		CompareRestored: x.CompareRestored,
		Delivering:      x.Delivering,
		EvictAlways:     x.EvictAlways,
		Fault:           x.Fault,
		Group:           &x.group,
		Hibernation:     x.Hibernation,
		Host:            x.Host,
		Registerer:      x.Registerer,
		Store:           x.Store,
	})
	x.shared.answers = newAnswers(x.shared.instances, x.Slots)
}

// makeRequests makes the services for the requests of callers.
func (x *Executions) makeRequests() {
	x.Ends = request.Ends{Clock: x.Clock, Host: x.Host, Rows: x.Rows, Watchers: x.Watchers}
	x.Messages = &request.Sender{
		Clock:     x.Clock,
		Committer: x.Committer,
		Fault:     x.Fault,
		Group:     &x.group,
		Host:      x.Host,
		Locks:     &x.shared.inboxes,
		Logger:    x.Logger,
		Rows:      x.Rows,
		Runs:      notifier{x.runs, boxMemory{x.Queued}},
		Workflows: x.Programs,
	}
	runs := asker{deps: x.Deps, rows: x.Rows, boxes: x.runs}
	x.Inspector = &Inspector{deps: x.Deps, runs: x.runs}
	x.Operator = &Operator{messages: x.Messages, runs: runs}
	x.Queries = &Queries{boxes: x.runs, host: x.Host}
	x.Stops = &Stops{
		asked: runs, ending: actor.NewFairQueue[journal.RunID](&x.group, maxEnding), messages: x.Messages, runs: x.runs,
	}
	x.Updates = request.NewUpdates(x.Messages, x.Queries)
	x.shared.stopped, x.shared.updates = x.Stops, x.Updates
}

// makeWork makes the services that start executions, perform their ops and try them on other code.
func (x *Executions) makeWork() {
	x.Starter = &Starter{
		deps:     x.shared,
		eager:    &x.evictor.eager,
		hasRoom:  x.HasRoom,
		messages: x.Messages,
		runs:     x.runs,
	}
	x.shared.tasks = task.NewPerformer(task.Deps{
		Activities:    x.Activities,
		Callees:       x.Starter,
		Clock:         x.Clock,
		Committer:     x.Committer,
		Delivering:    x.Delivering,
		Entities:      x.Entities,
		Fault:         x.Fault,
		Group:         &x.group,
		Host:          x.Host,
		Logger:        x.Logger,
		MaxActivities: x.MaxActivities,
		MaxOutcomes:   x.MaxOutcomes,
		Messages:      x.Messages,
		Rows:          x.Rows,
		Runs:          runsOfTasks{x.runs},
		Store:         x.Store,
	})
	x.Recoder = &recode.Recoder{Deps: recode.Deps{
		Clock:      x.Clock,
		Delivering: x.Delivering,
		Fault:      x.Fault,
		Guests:     x.shared.instances.Guests,
		Open:       x.Programs.Open,
		Publisher:  x.shared.publisher,
		Queued:     x.Queued,
		Resident:   x.shared.resident,
		Rows:       x.Rows,
		Starter:    x.Starter,
		Store:      x.Store,
	}}
	x.shared.recoder = x.Recoder
}

// SetEntities sets the entities. They and the executions call each other, so they may come after New, before anything
// works.
func (x *Executions) SetEntities(entities Entities) {
	x.Entities, x.shared.tasks.Entities = entities, entities
}

// HasRoom tells whether another execution fits into memory. If there is little room, or none, those
// that only wait leave memory: there may be room when it is asked again.
func (x *Executions) HasRoom() bool { return x.evictor.hasRoom() }

// DropGuests closes all instances. No execution may be at work.
func (x *Executions) DropGuests() { x.evictor.dropGuests() }

// EvictIdle drops instances that were not used for a while, until ctx ends.
func (x *Executions) EvictIdle(ctx context.Context) { x.shared.resident.Run(ctx) }

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

// after calls f after a time, or when the host ends.
func (x *Executions) after(d time.Duration, f func()) {
	ctx, cancel := context.WithCancel(x.Host.Context())
	alarm := x.Clock.AfterFunc(d, cancel)
	context.AfterFunc(ctx, func() {
		alarm.Stop()
		f()
	})
}

// WakeForMail has an execution look into its inbox.
func (x *Executions) WakeForMail(id journal.ID) { x.runs.Post(id, lookForMail{}) }

// ReleaseAttempts has every run say in the journal that it gives up the attempts that it has begun, so that they do not
// count as lost. It is for a host that stops.
func (x *Executions) ReleaseAttempts(ctx context.Context) {
	done := &sync.WaitGroup{}
	x.runs.PostAll(func() notice {
		done.Add(1)
		return releaseRequest{done}
	})
	all := make(chan struct{})
	go func() { done.Wait(); close(all) }()
	select {
	case <-all:
	case <-ctx.Done():
	}
}

// Answered tells callers that have left memory of answers of entities, which are in their inboxes.
func (x *Executions) Answered(sent []journal.Sent) { x.shared.announce(sent) }

// EntryLimit bounds the journal of an execution: see entryLimit.
func (x *Executions) EntryLimit(row *journal.Execution) uint64 { return entryLimit(row, x.MaxEntries) }

// OutcomeBytes is how many bytes of outcomes the runs have not delivered yet.
func (x *Executions) OutcomeBytes() int64 { return x.shared.tasks.OutcomeBytes() }
