package entity

import (
	"context"

	"github.com/cruster/cruster/host/actor"
	"github.com/cruster/cruster/host/entity/lock"
	"github.com/cruster/cruster/host/entity/parked"
	"github.com/cruster/cruster/host/entity/request"
	"github.com/cruster/cruster/host/entity/target"
	"github.com/cruster/cruster/host/timer"
	"github.com/cruster/cruster/journal"
)

// Entities are all entities of a host. Busy and recently busy entities are in memory.
type Entities struct {
	// Caller asks entities for operations, and locks them.
	Caller *request.Caller
	// Parked lists, retries and drops parked messages.
	Parked *parked.Operator
	// Rows finds states and locks.
	Rows request.Rows
	// Sender sends messages to entities.
	Sender *request.Sender

	actors   *actor.Registry[journal.ID, message, *entity]
	atWork   *actor.FairQueue[journal.ID] // the actors themselves
	group    actor.TaskGroup              // the goroutines of actors and of their tasks
	recovery *recovery
	workers  *workers
}

// New makes Entities with none in memory.
func New(deps Deps) *Entities {
	x := &Entities{}
	targets := target.Finder{Catalog: deps.Catalog, ShardGroups: deps.ShardGroups}
	w := newWorkers(&deps, targets, &x.group)
	x.workers = w
	x.atWork = actor.NewFairQueue[journal.ID](&x.group, maxAtWork)
	x.actors = actor.NewRegistry(x.atWork,
		func(id journal.ID) *entity { return newEntity(w, id, !x.recovery.done.Load()) },
		func(n int) { w.metrics.InMemory.Set(float64(n)) })
	w.post = x.actors.Post
	w.timers = timer.New(deps.Clock, func(id journal.ID) { w.post(id, tick{}) }, nil)
	x.recovery = &recovery{
		clock: deps.Clock, logger: deps.Logger, looking: make(chan struct{}, maxRecovering), post: w.post,
		store: deps.Store,
	}
	x.takeRequests(&deps, targets)
	return x
}

// takeRequests makes the rooms through which requests come in.
func (x *Entities) takeRequests(deps *Deps, targets target.Finder) {
	w, checks := x.workers, request.Checks{Host: deps.Host, Targets: targets}
	x.Rows = request.Rows{Store: deps.Store, Targets: targets}
	x.Parked = &parked.Operator{
		Commits: w.commits, Host: deps.Host, Inboxes: w.post, Logger: deps.Logger, Store: deps.Store,
	}
	x.Sender = &request.Sender{Actors: w.post, Checks: checks, Commits: w.commits, Parked: x.Parked, Rows: x.Rows}
	x.Caller = &request.Caller{
		Actors: w.post, Checks: checks, Host: deps.Host, Logger: deps.Logger, Queued: deps.Queued, Rows: x.Rows,
		Sender: x.Sender,
	}
}

// Run wakes entities at their times, until ctx ends.
func (x *Entities) Run(ctx context.Context) { x.workers.timers.Run(ctx) }

// Recover has all entities look into their inboxes that have messages there from an earlier host. It tries until it is
// done, or ctx ends.
func (x *Entities) Recover(ctx context.Context) { x.recovery.run(ctx) }

// ScanInboxes has entities look into their inboxes that have messages there, a page at a time, until ctx ends. They
// have been told of nearly all.
func (x *Entities) ScanInboxes(ctx context.Context) { x.recovery.scan(ctx) }

// Unlocked reports that the section of a step has ended: the entities that it has locked go on.
func (x *Entities) Unlocked(step journal.Caller) {
	for _, id := range x.workers.holders.Of(step) {
		x.workers.post(id, unlocked{step})
	}
}

// Waiters lists the first callers that wait for an entity, and counts all.
func (x *Entities) Waiters(ctx context.Context, id journal.ID) (lock.Waiters, error) {
	if !x.actors.Has(id) {
		return lock.Waiters{}, nil
	}
	select {
	case waiters := <-x.workers.post.waiters(id):
		return waiters, nil
	case <-ctx.Done():
		return lock.Waiters{}, ctx.Err()
	case <-x.workers.host.Context().Done():
		return lock.Waiters{}, x.workers.host.EndReason()
	}
}

// InMemory tells whether an entity is in memory.
func (x *Entities) InMemory(ref target.Ref) bool { return x.actors.Has(ref.ID()) }

// Count counts the entities in memory.
func (x *Entities) Count() int { return x.actors.Len() }

// Idle is closed once no entity and no task works.
func (x *Entities) Idle() <-chan struct{} { return x.group.Idle() }

// Close lets no entity begin work any more. Running work goes on until the host ends.
func (x *Entities) Close() { x.group.Close() }
