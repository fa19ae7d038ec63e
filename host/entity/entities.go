package entity

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/cruster/cruster/host/actor"
	"github.com/cruster/cruster/host/budget"
	"github.com/cruster/cruster/host/entity/batch"
	"github.com/cruster/cruster/host/entity/commit"
	"github.com/cruster/cruster/host/entity/fault"
	"github.com/cruster/cruster/host/entity/lock"
	"github.com/cruster/cruster/host/entity/metrics"
	"github.com/cruster/cruster/host/entity/parked"
	"github.com/cruster/cruster/host/entity/starts"
	"github.com/cruster/cruster/host/entity/stateless"
	"github.com/cruster/cruster/host/entity/target"
	"github.com/cruster/cruster/host/faultpoint"
	"github.com/cruster/cruster/host/hoststate"
	"github.com/cruster/cruster/host/timer"
	"github.com/cruster/cruster/journal"
)

// Store is what entities read: see [journal.Store]. They write through a [commit.Writer].
type Store interface {
	journal.EntityReader
	journal.InboxReader
	journal.LockReader
	journal.ParkedReader
}

// Guests runs the code of entities: see [instance.Instances].
type Guests interface {
	batch.Guests
	stateless.Guests
}

// Starts starts workflows for entities of a deployment.
type Starts interface {
	batch.Starts
	starts.Workflows
}

// Deps is what entities stand on.
type Deps struct {
	Callers   commit.Callers
	Catalog   target.Catalog
	Clock     clockwork.Clock
	Committer commit.Committer
	// EvictAlways keeps no state in memory. It is for tests.
	EvictAlways bool
	Fault       faultpoint.Injector
	Guests      Guests
	Host        *hoststate.State
	// IdleTime is how long an entity without calls stays in memory, if its type does not say.
	IdleTime time.Duration
	Logger   *slog.Logger
	// MaxCalls bounds the calls of entities without a state that run at the same time.
	MaxCalls int
	// Queued is what states and calls that wait take their memory from.
	Queued     *budget.Budget
	Registerer prometheus.Registerer
	// ShardGroups are the shard groups that this host serves, besides the default one.
	ShardGroups []string
	Starts      Starts
	Store       Store
	// Transactions commits SQL of entities without a state.
	Transactions stateless.Transactions
}

// maxAtWork bounds the tasks of entities at the same time. Tasks waiting for the store, for memory
// or for a slot count, so it is far more than compute.
const maxAtWork = 1024

// Entities manages all entities of a host. Busy and recently busy entities are in memory.
type Entities struct {
	Deps
	targets target.Finder
	metrics *metrics.Metrics
	commits *commit.Writer
	faults  *fault.Log
	batches *batch.Worker     // performs operations of entities with a state
	calls   *stateless.Worker // performs operations of entities without one
	starter *starts.Starter
	locks   *lock.Reader
	parked  *parked.Operator
	group   actor.TaskGroup              // the goroutines of actors and of their tasks
	atWork  *actor.FairQueue[journal.ID] // the actors themselves
	working *actor.FairQueue[journal.ID] // batches, reads and their preparation
	calling *actor.FairQueue[journal.ID] // calls of entities without a state
	actors  *actor.Registry[journal.ID, message, *entity]
	timers  *timer.Heap
	holders lock.Holders
	// recovered says that all entities that had messages when the host began know of them.
	recovered atomic.Bool
	// recovering has an element for each entity that looks for messages from before.
	recovering chan struct{}
}

// New makes Entities with none in memory.
func New(deps Deps) *Entities {
	x := &Entities{
		Deps: deps, metrics: metrics.New(deps.Registerer), recovering: make(chan struct{}, maxRecovering),
		targets: target.Finder{Catalog: deps.Catalog, ShardGroups: deps.ShardGroups},
	}
	x.equip()
	x.working = actor.NewFairQueue[journal.ID](&x.group, maxAtWork)
	x.calling = actor.NewFairQueue[journal.ID](&x.group, deps.MaxCalls)
	x.atWork = actor.NewFairQueue[journal.ID](&x.group, maxAtWork)
	x.actors = actor.NewRegistry(x.atWork,
		func(id journal.ID) *entity { return newEntity(x, id) },
		func(n int) { x.metrics.InMemory.Set(float64(n)) })
	x.timers = timer.New(deps.Clock, func(id journal.ID) { x.actors.Post(id, tick{}) }, nil)
	return x
}

// equip makes the workers that actors hand their tasks to.
func (x *Entities) equip() {
	x.faults = &fault.Log{Count: x.metrics.Faults, Logger: x.Logger}
	x.commits = &commit.Writer{
		Callers: x.Callers, Clock: x.Clock, Committer: x.Committer, Fault: x.Fault, Host: x.Host, Logger: x.Logger,
		Metrics: x.metrics, Store: x.Store,
	}
	parkings := &parked.Log{Count: x.metrics.Parked, Logger: x.Logger}
	x.batches = &batch.Worker{
		Commits: x.commits, Fault: x.Fault, Faults: x.faults, Guests: x.Guests, Host: x.Host, Logger: x.Logger,
		Metrics: x.metrics, Parked: parkings, Starts: x.Starts, Store: x.Store, Targets: x.targets,
	}
	x.calls = &stateless.Worker{
		Commits: x.commits, Faults: x.faults, Guests: x.Guests, Host: x.Host, Logger: x.Logger, Metrics: x.metrics,
		Parked: parkings, Targets: x.targets, Transactions: x.Transactions,
	}
	x.starter = &starts.Starter{Commits: x.commits, Host: x.Host, Parked: parkings, Store: x.Store, Workflows: x.Starts}
	x.locks = &lock.Reader{Host: x.Host, Store: x.Store}
	x.parked = &parked.Operator{Commits: x.commits, Host: x.Host, Inboxes: inboxes{x}, Logger: x.Logger, Store: x.Store}
}

// inboxes tells actors of messages in their inboxes.
type inboxes struct{ entities *Entities }

// Mail implements [parked.Inboxes].
func (i inboxes) Mail(id journal.ID, position uint64) { i.entities.actors.Post(id, mail{position}) }

// Parked lists, retries and drops parked messages.
func (x *Entities) Parked() *parked.Operator { return x.parked }

// Run wakes entities at their times, until ctx ends.
func (x *Entities) Run(ctx context.Context) { x.timers.Run(ctx) }

// InMemory tells whether an entity is in memory.
func (x *Entities) InMemory(ref target.Ref) bool { return x.actors.Has(ref.ID()) }

// Count counts the entities in memory.
func (x *Entities) Count() int { return x.actors.Len() }

// Idle is closed once no entity and no task works.
func (x *Entities) Idle() <-chan struct{} { return x.group.Idle() }

// Close lets no entity begin work any more. Running work goes on until the host ends.
func (x *Entities) Close() { x.group.Close() }

// now is the wall clock, Unix nanoseconds.
func (x *Entities) now() int64 { return x.Clock.Now().UnixNano() }
