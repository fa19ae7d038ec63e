package host

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/cruster/cruster/host/activity"
	"github.com/cruster/cruster/host/admission"
	"github.com/cruster/cruster/host/budget"
	"github.com/cruster/cruster/host/catalog"
	"github.com/cruster/cruster/host/egress"
	"github.com/cruster/cruster/host/entity"
	"github.com/cruster/cruster/host/execution"
	"github.com/cruster/cruster/host/faultpoint"
	"github.com/cruster/cruster/host/follow"
	"github.com/cruster/cruster/host/guest"
	"github.com/cruster/cruster/host/hibernation"
	"github.com/cruster/cruster/host/hoststate"
	"github.com/cruster/cruster/host/recovery"
	"github.com/cruster/cruster/host/retention"
	"github.com/cruster/cruster/host/schedule"
	"github.com/cruster/cruster/host/timer"
	"github.com/cruster/cruster/host/wasm"
	"github.com/cruster/cruster/host/watch"
	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/sharding"
)

// DefaultNamespace is the tenant of requests that name none.
const DefaultNamespace = journal.DefaultNamespace

// Engine is the durable engine of one host. Make one with [New], start it with
// [Engine.Start], stop it with [Engine.Stop].
type Engine struct {
	cfg         Config
	clock       clockwork.Clock
	log         *slog.Logger
	store       journal.Store
	wasm        *wasm.Runtime
	egress      *egress.Client
	queued      *budget.Budget
	requests    *budget.Budget
	answers     *budget.Budget
	connections *budget.Budget
	writer      *writer
	catalog     *catalog.Catalog
	keys        *guest.KeyDeriver
	entities    *entity.Entities
	executions  *execution.Executions
	followers   follow.List
	admission   *admission.Controller
	timers      *timer.Heap
	schedules   *schedule.Schedules
	ticks       *timer.Heap // of schedules
	state       *hoststate.State

	background sync.WaitGroup // the goroutines of Start
	stop       sync.Once
}

// maxQueuedWrites is how many writes may wait for the committer before starts are
// refused.
const maxQueuedWrites = 16_384

// New makes an engine. It does nothing before Start.
func New(cfg Config) (*Engine, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	state := hoststate.New()
	runtime := cfg.Runtime
	if runtime == nil {
		if runtime, err = wasm.New(state.Context(), cfg.Wasm); err != nil {
			state.End()
			return nil, err
		}
	}
	e := &Engine{
		cfg: cfg, clock: timer.NewSteady(cfg.Clock), log: cfg.Logger, store: cfg.Store, state: state,
		wasm: runtime, egress: egress.NewClient(cfg.Egress),
	}
	e.wire()
	return e, nil
}

// Permit is a part of the memory of the host, at first of no bytes: see host/budget.
type Permit interface {
	// Grow makes it larger, before that much is taken; false says that there is no room.
	Grow(bytes int64) bool
	// CouldGrow tells whether there would be room if nothing else took any.
	CouldGrow(bytes int64) bool
	// Release gives all of it back.
	Release()
}

// UploadMemory returns the permit for the memory of one upload. The memory for compiling it is not
// part of it.
func (e *Engine) UploadMemory() Permit { return e.queued.Empty() }

// connectionCost is the memory of a connection beside its calls, as BenchmarkConnection of
// api/grpcserver measures it: the buffers of the transport for either direction, its goroutines,
// and the tables of its headers.
const connectionCost = 64 << 10

// AdmitConnection takes memory for a connection, if there is some.
func (e *Engine) AdmitConnection() (release func(), ok bool) {
	permit, ok := e.connections.TryAcquire(connectionCost)
	return permit.Release, ok
}

// AdmitRequest takes memory for a call or its message, if there is some. A message that would need
// more than half of the memory for requests has that half.
func (e *Engine) AdmitRequest(bytes int64) (release func(), ok bool) {
	permit := e.requests.Empty()
	return permit.Release, permit.Grow(min(bytes, e.requests.Total()/2))
}

// AdmitAnswer waits for the memory of an answer. An answer larger than the share of answers takes all of the share.
func (e *Engine) AdmitAnswer(ctx context.Context, bytes int64) (AnswerPermit, error) {
	permit, err := e.answers.Acquire(ctx, min(bytes, e.answers.Total()))
	if err != nil {
		return nil, journal.Coded("wait for memory for the answer", err)
	}
	return permit, nil
}

// AnswerPermit is the memory of an answer.
type AnswerPermit = interface {
	// ShrinkTo gives back all but so much.
	ShrinkTo(bytes int64)
	// Release gives all of it back.
	Release()
}

// wire builds the rooms, from the bottom up.
func (e *Engine) wire() {
	cfg, injector := e.cfg, faultpoint.Injector(e.cfg.FaultPoint)
	e.queued, e.requests, e.answers = queuedShare.budgetOf(cfg.Memory), requestShare.budgetOf(cfg.Memory), answerShare.budgetOf(cfg.Memory)
	e.connections = connectionShare.budgetOf(cfg.Memory)
	delivering, memory := deliveringShare.budgetOf(cfg.Memory), instanceShare.budgetOf(cfg.Memory)
	if cfg.Registerer != nil {
		cfg.Registerer.MustRegister(instances{e.wasm}, instanceShare.use(memory), queuedShare.use(e.queued), deliveringShare.use(delivering),
			requestShare.use(e.requests), answerShare.use(e.answers), connectionShare.use(e.connections))
	}
	e.writer = newWriter(cfg, e.state, &e.followers)
	if cfg.Registerer != nil {
		cfg.Registerer.MustRegister(memoryOfWrites(e.writer, cfg.Memory)...)
	}
	e.catalog = catalog.New(e.wasm, ownedModules{cfg.Store, e.writer})
	e.catalog.DefaultNamespace = DefaultNamespace
	e.catalog.Fault, e.catalog.Memory, e.catalog.Shared = injector, memory, cfg.Runtime != nil
	slots := guest.NewSlots(cfg.Clock, cfg.TurnTimeout)
	e.keys = guest.NewKeyDeriver(guest.KeyDeps{Clock: cfg.Clock, Fuel: cfg.TurnFuel, Memory: memory, Registerer: cfg.Registerer, Slots: slots})
	e.timers = timer.New(e.clock, func(id journal.ID) {
		injector.Pass(faultpoint.TimerFired)
		if !e.state.Draining() {
			e.executions.Wake(id)
		}
	}, func(id journal.ID) {
		if !e.state.Draining() {
			e.executions.Prepare(id)
		}
	})
	activities := activity.NewRunner(activity.Deps{
		Catalog: e.catalog, Clock: e.clock, Committer: e.writer, Egress: e.egress, Fault: injector, Followers: &e.followers, Fuel: cfg.ActivityFuel, Host: e.state,
		Logger: cfg.Logger, Memory: memory, Random: rand.Float64, Registerer: cfg.Registerer, Store: cfg.Store, Timeout: cfg.ActivityTimeout,
	})
	e.executions = execution.New(execution.Deps{
		Activities: activities, CheckSignal: e.checkSignal, Clock: e.clock, Committer: e.writer, CompareRestored: cfg.CompareRestored,
		Continue: e.continuation, Delivering: delivering, WorkflowOf: e.workflowOf,
		Entities: entityCalls{e}, EvictAlways: cfg.EvictAlways, Fault: injector, Followers: &e.followers, Hibernation: hibernation.Policy{Entries: cfg.HibernateAfter},
		IdleTimeout: cfg.IdleTimeout, Host: e.state, Logger: cfg.Logger, MaxActivities: cfg.MaxActivities, MaxEntries: cfg.MaxEntries,
		MaxOutcomes: outcomeBytes(cfg.Memory), Memory: memory,
		OpenGuest: e.openGuest, Queued: e.queued, Random: rand.Float64, Registerer: cfg.Registerer, Slots: slots,
		StartChild: e.startChild, Store: cfg.Store, Timers: e.timers, Watchers: watch.NewList(),
	})
	if cfg.Registerer != nil {
		cfg.Registerer.MustRegister(memoryOfOutcomes(e.executions, cfg.Memory)...)
	}
	e.entities = entity.New(entity.Deps{
		Callers: e.executions, Catalog: e.catalog, Clock: e.clock, Committer: e.writer, EvictAlways: cfg.EvictAlways, Fault: injector,
		Guests: entity.NewInstances(entity.InstanceDeps{
			CallFuel: cfg.ActivityFuel, CallTimeout: cfg.ActivityTimeout, Clock: e.clock, Egress: e.egress, Fuel: cfg.TurnFuel, Host: e.state,
			Logger: cfg.Logger, Memory: memory, Registerer: cfg.Registerer, Slots: slots, Store: cfg.Store,
		}),
		Host: e.state, IdleTime: cfg.EntityIdleTime, Logger: cfg.Logger, MaxCalls: cfg.MaxActivities, Queued: e.queued,
		Registerer: cfg.Registerer, ShardGroups: cfg.ShardGroups, Starts: entityStarts{e}, Store: cfg.Store, Transactions: e.writer,
	})
	e.admission = admission.NewController(
		admission.Limits{Executions: cfg.MaxExecutions, QueuedWrites: maxQueuedWrites, WriteBytes: writeBytes(cfg.Memory)},
		func() admission.Load {
			return admission.Load{Executions: e.executions.Count(), QueuedWrites: e.writer.queued(), WriteBytes: e.writer.queuedBytes()}
		}, cfg.Registerer)
	e.admission.MakeRoom = e.executions.MakeRoom
	e.wireSchedules()
}

// openGuest finds the code of an execution, by the digest to which it is pinned.
func (e *Engine) openGuest(ctx context.Context, row *journal.Execution) (execution.Opening, error) {
	m, err := e.catalog.Module(ctx, row.Digest)
	if err != nil {
		return execution.Opening{}, err
	}
	return openingOf(m, row, e.cfg.TurnFuel), nil
}

// Start claims the shards, which fences every earlier owner, and brings back the running
// executions. It returns once the engine accepts work; recovery goes on in the background.
func (e *Engine) Start(ctx context.Context) error {
	injector := faultpoint.Injector(e.cfg.FaultPoint)
	injector.Pass(faultpoint.ClaimBeforeCommit)
	ownership, err := sharding.Claim(ctx, e.store, e.cfg.Name)
	if err != nil {
		return journal.CodedAtStart("claim the shards", err)
	}
	injector.Pass(faultpoint.ClaimAfterCommit)
	e.writer.ownership = ownership
	// Deployments read before the claim may have been changed by the owner before.
	e.catalog.ForgetDeployments()
	e.state.MarkStarted()
	scanner := recovery.Scanner{
		Clock: e.clock, Executions: e.executions, HasRoom: e.admission.HasRoom, Logger: e.log, Mail: e.store, Store: e.store, Timers: e.timers,
		WakeForMail: e.executions.WakeForMail,
	}
	e.goBackground(e.timers.Run)
	e.goBackground(scanner.Run)
	e.goBackground(e.executions.EvictIdle)
	e.startSchedules()
	e.goBackground(e.entities.Run)
	e.goBackground(e.entities.Recover)
	e.goBackground(e.entities.ScanInboxes)
	if e.cfg.Retention > 0 {
		finished := retention.Sweeper{
			Begin: e.schedules.Recovered(), Clock: e.clock, Keep: e.cfg.Retention, Logger: e.log, Sweep: e.writer.Sweep, What: "finished executions",
			Fault: injector, Before: faultpoint.SweepBeforeCommit, After: faultpoint.SweepAfterCommit,
		}
		e.goBackground(finished.Run)
	}
	receipts := retention.Sweeper{Clock: e.clock, Keep: e.cfg.RequestWindow, Logger: e.log, Sweep: e.writer.SweepReceipts, What: "receipts"}
	e.goBackground(receipts.Run)
	locks := retention.Sweeper{Clock: e.clock, Keep: time.Minute, Logger: e.log, Sweep: e.writer.SweepLocks, What: "locks that no one holds"}
	e.goBackground(locks.Run)
	garbage := retention.Sweeper{
		Clock: e.clock, Keep: purgeEvery, Logger: e.log, Sweep: e.writer.Purge, What: "rows of runs that are gone",
		Fault: injector, Before: faultpoint.PurgeBeforeCommit, After: faultpoint.PurgeAfterCommit,
	}
	if e.cfg.Retention > 0 {
		garbage.Keep = min(purgeEvery, e.cfg.Retention)
	}
	e.goBackground(garbage.Run)
	return nil
}

// purgeEvery is how often rows of runs that are gone are looked for: a workflow that continues again and
// again leaves many.
const purgeEvery = 10 * time.Second

// Started is closed once the engine accepts work.
func (e *Engine) Started() <-chan struct{} { return e.state.Started() }

func (e *Engine) goBackground(loop func(ctx context.Context)) {
	e.background.Go(func() { loop(e.state.Context()) })
}

// Stop drains: no new work is accepted, no new activity begins, running ones may finish within the
// drain timeout, and whatever they yield is committed. The remainder is in the journal. Stop is
// idempotent.
func (e *Engine) Stop(ctx context.Context) error {
	e.stop.Do(func() {
		e.state.Drain()
		ctx, cancel := context.WithTimeout(ctx, e.cfg.DrainTimeout)
		defer cancel()
		select {
		case <-e.idle():
		case <-ctx.Done():
			e.log.Warn("stopping with activities under way; they will be repeated", "after", e.cfg.DrainTimeout)
			e.releaseAttempts()
		}
		e.entities.Close()
		e.executions.Close()
		e.state.End()
		<-e.entities.Idle()
		<-e.executions.Idle()
		e.background.Wait()
		e.writer.stop()
		e.executions.DropGuests()
		e.egress.Close()
		if e.cfg.Runtime == nil {
			_ = e.wasm.Close(context.Background())
		}
	})
	return nil
}

// idle is closed once no execution and no entity works.
func (e *Engine) idle() <-chan struct{} {
	idle := make(chan struct{})
	e.background.Go(func() {
		defer close(idle)
		// Executions end their operations on entities; entities wait for none.
		for _, room := range []<-chan struct{}{e.executions.Idle(), e.entities.Idle()} {
			select {
			case <-room:
			case <-e.state.Context().Done():
			}
		}
	})
	return idle
}

// releaseTimeout bounds how long a stopping host tries to journal the attempts that it gives up.
const releaseTimeout = 3 * time.Second

// releaseAttempts has executions say that the attempts under way are given up, so that
// they do not count as lost.
func (e *Engine) releaseAttempts() {
	ctx, cancel := context.WithTimeout(context.Background(), releaseTimeout)
	defer cancel()
	e.executions.ReleaseAttempts(ctx)
}

// Kill ends the engine as a crash would: nothing is drained, nothing is finished, no caller is
// answered. It is for tests; Stop must still be called to free the resources of the engine.
func (e *Engine) Kill() {
	e.state.Drain()
	e.entities.Close()
	e.executions.Close()
	e.state.End()
}

// Ready tells whether the engine makes progress: it owns its shards, its store
// commits, and it is not on its way out.
func (e *Engine) Ready(ctx context.Context) error {
	if err := e.state.Accepting(); err != nil {
		return err
	}
	if err := e.store.Ping(ctx); err != nil {
		return journal.Coded("ping", err)
	}
	return nil
}

// Lost tells that another host has taken over: it returns the reason once that has
// happened, nil before.
func (e *Engine) Lost() error { return e.state.Lost() }

func namespaceOf(namespace string) string {
	if namespace == "" {
		return DefaultNamespace
	}
	return namespace
}
