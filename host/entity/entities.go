package entity

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/actor"
	"github.com/cruster/cruster/host/budget"
	"github.com/cruster/cruster/host/catalog"
	"github.com/cruster/cruster/host/decide"
	"github.com/cruster/cruster/host/faultpoint"
	"github.com/cruster/cruster/host/hoststate"
	"github.com/cruster/cruster/host/timer"
	"github.com/cruster/cruster/journal"
)

// Store is what entities read: see [journal.Store]. They write through a [Committer].
type Store interface {
	journal.EntityReader
	journal.InboxReader
	journal.LockReader
	journal.ParkedReader
}

// Committer makes one write durable, fenced by the epoch of its shard.
type Committer interface {
	Commit(w journal.Write) (journal.Result, error)
}

// Transactions commits the transaction of a guest together with a write, fenced by the epoch
// of its shard.
type Transactions interface {
	CommitTx(ctx context.Context, tx journal.GuestTx, w journal.Write) error
}

// Catalog finds types of entities.
type Catalog interface {
	Entity(ctx context.Context, namespace, entityType string) (*catalog.Entity, error)
}

// Guests runs the code of entities: see [Instances].
type Guests interface {
	// Operations runs operations of an entity with a state, one after the other.
	Operations(ctx context.Context, target Target, body *abi.Operations) (*Ran, error)
	// Call runs an operation of an entity without a state.
	Call(ctx context.Context, target Target, call StatelessCall) (*StatelessRan, error)
}

// Starts starts workflows for entities of a deployment.
type Starts interface {
	// Check refuses a start that cannot be.
	Check(ctx context.Context, namespace, deployment string, call *abi.Call) error
	// Start starts a workflow, or finds the execution that has its key already.
	Start(ctx context.Context, namespace, deployment string, call *abi.Call) error
}

// Callers are the executions that have called entities, and left memory.
type Callers interface {
	// Answered says that answers are in their inboxes.
	Answered(sent []journal.Sent)
}

// Deps is what entities stand on.
type Deps struct {
	Callers   Callers
	Catalog   Catalog
	Clock     clockwork.Clock
	Committer Committer
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
	Transactions Transactions
}

// maxAtWork bounds the tasks of entities at the same time. Tasks waiting for the store, for memory
// or for a slot count, so it is far more than compute.
const maxAtWork = 1024

// Entities manages all entities of a host. Busy and recently busy entities are in memory.
type Entities struct {
	Deps
	metrics *metrics
	group   actor.TaskGroup              // the goroutines of actors and of their tasks
	atWork  *actor.FairQueue[journal.ID] // the actors themselves
	working *actor.FairQueue[journal.ID] // batches, reads and their preparation
	calling *actor.FairQueue[journal.ID] // calls of entities without a state
	actors  *actor.Registry[journal.ID, message, *entity]
	timers  *timer.Heap
	holders holders
	// recovered says that all entities that had messages when the host began know of them.
	recovered atomic.Bool
	// recovering has an element for each entity that looks for messages from before.
	recovering chan struct{}
}

// New makes Entities with none in memory.
func New(deps Deps) *Entities {
	x := &Entities{Deps: deps, metrics: newMetrics(deps.Registerer), recovering: make(chan struct{}, maxRecovering)}
	x.working = actor.NewFairQueue[journal.ID](&x.group, maxAtWork)
	x.calling = actor.NewFairQueue[journal.ID](&x.group, deps.MaxCalls)
	x.atWork = actor.NewFairQueue[journal.ID](&x.group, maxAtWork)
	x.actors = actor.NewRegistry(x.atWork,
		func(id journal.ID) *entity { return newEntity(x, id) },
		func(n int) { x.metrics.inMemory.Set(float64(n)) })
	x.timers = timer.New(deps.Clock, func(id journal.ID) { x.actors.Post(id, tick{}) }, nil)
	return x
}

func (x *Entities) decider() decide.Writer {
	return decide.Writer{Clock: x.Clock, Commit: x.Committer.Commit, Host: x.Host, Logger: x.Logger}
}

// Run wakes entities at their times, until ctx ends.
func (x *Entities) Run(ctx context.Context) { x.timers.Run(ctx) }

// InMemory tells whether an entity is in memory.
func (x *Entities) InMemory(ref Ref) bool { return x.actors.Has(ref.ID()) }

// Count counts the entities in memory.
func (x *Entities) Count() int { return x.actors.Len() }

// Idle is closed once no entity and no task works.
func (x *Entities) Idle() <-chan struct{} { return x.group.Idle() }

// Close lets no entity begin work any more. Running work goes on until the host ends.
func (x *Entities) Close() { x.group.Close() }

// now is the wall clock, Unix nanoseconds.
func (x *Entities) now() int64 { return x.Clock.Now().UnixNano() }

// wait sleeps unless the host ends first.
func (x *Entities) wait(d time.Duration) { timer.Wait(x.Host.Context(), x.Clock, d) }
