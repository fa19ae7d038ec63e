package host

import (
	"context"
	"math/rand/v2"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/cruster/cruster/host/activity"
	"github.com/cruster/cruster/host/admission"
	"github.com/cruster/cruster/host/catalog"
	"github.com/cruster/cruster/host/control"
	"github.com/cruster/cruster/host/deploy"
	"github.com/cruster/cruster/host/entity"
	"github.com/cruster/cruster/host/entity/instance"
	"github.com/cruster/cruster/host/execution"
	"github.com/cruster/cruster/host/faultpoint"
	"github.com/cruster/cruster/host/follow"
	"github.com/cruster/cruster/host/guest"
	"github.com/cruster/cruster/host/hibernation"
	"github.com/cruster/cruster/host/launch"
	"github.com/cruster/cruster/host/maintenance"
	"github.com/cruster/cruster/host/memory"
	"github.com/cruster/cruster/host/observe"
	"github.com/cruster/cruster/host/program"
	"github.com/cruster/cruster/host/schedule"
	"github.com/cruster/cruster/host/timer"
	"github.com/cruster/cruster/host/watch"
	"github.com/cruster/cruster/journal"
)

// maxQueuedWrites is how many writes may wait for the committer before starts are refused.
const maxQueuedWrites = 16_384

// wiring is shared by the rooms while they are built.
type wiring struct {
	fault     faultpoint.Injector
	followers *follow.List
	programs  *program.Programs
	slots     *guest.Slots
}

// wire builds the rooms, from the bottom up.
func (e *Engine) wire() {
	w := wiring{
		fault:     e.cfg.UnderTest.FaultPoint,
		followers: &follow.List{},
		slots:     guest.NewSlots(e.cfg.Clock, e.cfg.TurnTimeout),
	}
	e.memory = memory.New(e.cfg.Memory)
	e.register(instances{e.wasm})
	e.register(e.memory.Collectors()...)
	e.writer = newWriter(e.cfg, e.state, w.followers)
	e.register(memory.WriteCollectors(e.writer.queuedBytes, e.cfg.Memory)...)
	e.wirePrograms(&w)
	e.wireExecutions(&w)
	e.wireEntities(&w)
	e.wireRequests(&w)
}

// register registers metrics, if there is a registerer.
func (e *Engine) register(collectors ...prometheus.Collector) {
	if e.cfg.Registerer != nil {
		e.cfg.Registerer.MustRegister(collectors...)
	}
}

func (e *Engine) wirePrograms(w *wiring) {
	cfg := &e.cfg
	e.catalog = catalog.New(e.wasm, ownedModules{cfg.Store, e.writer})
	e.catalog.DefaultNamespace = DefaultNamespace
	e.catalog.Fault, e.catalog.Memory, e.catalog.Shared = w.fault, e.memory.Instances, cfg.Runtime != nil
	w.programs = program.New(program.Deps{
		Catalog:     e.catalog,
		Clock:       e.clock,
		Logger:      e.log,
		MemoryLimit: uint64(e.wasm.MemoryLimit()),
		TurnFuel:    cfg.TurnFuel,
		Keys: guest.NewKeyDeriver(guest.KeyDeps{
			Clock:      cfg.Clock,
			Fuel:       cfg.TurnFuel,
			Memory:     e.memory.Instances,
			Registerer: cfg.Registerer,
			Slots:      w.slots,
		}),
	})
}

func (e *Engine) wireExecutions(w *wiring) {
	cfg := &e.cfg
	e.timers = timer.New(e.clock, func(id journal.ID) {
		w.fault.Pass(faultpoint.TimerFired)
		if !e.state.Draining() {
			e.executions.Wake(id)
		}
	}, func(id journal.ID) {
		if !e.state.Draining() {
			e.executions.Prepare(id)
		}
	})
	e.executions = execution.New(execution.Deps{
		Activities: activity.NewRunner(activity.Deps{
			Catalog:    e.catalog,
			Clock:      e.clock,
			Committer:  e.writer,
			Egress:     e.egress,
			Fault:      w.fault,
			Followers:  w.followers,
			Fuel:       cfg.ActivityFuel,
			Host:       e.state,
			Logger:     e.log,
			Memory:     e.memory.Instances,
			Random:     rand.Float64,
			Registerer: cfg.Registerer,
			Store:      e.store,
			Timeout:    cfg.ActivityTimeout,
		}),
		Clock:           e.clock,
		Committer:       e.writer,
		CompareRestored: cfg.UnderTest.CompareRestored,
		Delivering:      e.memory.Delivering,
		EvictAlways:     cfg.UnderTest.EvictAlways,
		Fault:           w.fault,
		Followers:       w.followers,
		Hibernation:     hibernation.Policy{Entries: cfg.HibernateAfter},
		Host:            e.state,
		IdleTimeout:     cfg.IdleTimeout,
		Logger:          e.log,
		MaxActivities:   cfg.MaxActivities,
		MaxEntries:      cfg.UnderTest.MaxEntries,
		MaxInMemory:     cfg.MaxExecutions,
		MaxOutcomes:     memory.OutcomeBytes(cfg.Memory),
		Memory:          e.memory.Instances,
		Programs:        w.programs,
		Queued:          e.memory.Queued,
		Random:          rand.Float64,
		Registerer:      cfg.Registerer,
		Slots:           w.slots,
		Store:           e.store,
		Timers:          e.timers,
		Watchers:        watch.NewList(),
	})
	e.register(memory.OutcomeCollectors(e.executions.OutcomeBytes, cfg.Memory)...)
}

// wireEntities builds the entities. They and the executions call each other: the executions are told
// of them last.
func (e *Engine) wireEntities(w *wiring) {
	cfg := &e.cfg
	e.entities = entity.New(entity.Deps{
		Callers:     e.executions,
		Catalog:     e.catalog,
		Clock:       e.clock,
		Committer:   e.writer,
		EvictAlways: cfg.UnderTest.EvictAlways,
		Fault:       w.fault,
		Guests: instance.New(instance.Deps{
			CallFuel:    cfg.ActivityFuel,
			CallTimeout: cfg.ActivityTimeout,
			Clock:       e.clock,
			Egress:      e.egress,
			Fuel:        cfg.TurnFuel,
			Host:        e.state,
			Logger:      e.log,
			Memory:      e.memory.Instances,
			Registerer:  cfg.Registerer,
			Slots:       w.slots,
			Store:       e.store,
		}),
		Host:         e.state,
		IdleTime:     cfg.EntityIdleTime,
		Logger:       e.log,
		MaxCalls:     cfg.MaxActivities,
		Queued:       e.memory.Queued,
		Registerer:   cfg.Registerer,
		ShardGroups:  cfg.ShardGroups,
		Starts:       launch.ForEntities{Executions: e.executions, Programs: w.programs},
		Store:        e.store,
		Transactions: e.writer,
	})
	e.executions.SetEntities(entityCalls{e.entities})
}

// wireRequests builds the rooms that clients call.
func (e *Engine) wireRequests(w *wiring) {
	cfg := &e.cfg
	admitted := admission.NewController(
		admission.Limits{
			Executions: cfg.MaxExecutions, QueuedWrites: maxQueuedWrites, WriteBytes: memory.WriteBytes(cfg.Memory),
		},
		func() admission.Load {
			return admission.Load{
				Executions: e.executions.Count(), QueuedWrites: e.writer.queued(), WriteBytes: e.writer.queuedBytes(),
			}
		}, cfg.Registerer)
	e.observer = observe.New(observe.Deps{
		Answers:    e.memory,
		Catalog:    e.catalog,
		Clock:      e.clock,
		Executions: e.executions,
		Followers:  w.followers,
		Host:       e.state,
		Programs:   w.programs,
		Store:      e.store,
	})
	e.launcher = launch.New(launch.Deps{
		Admission:  admitted,
		Clock:      e.clock,
		Executions: e.executions,
		Host:       e.state,
		Observer:   e.observer,
		Programs:   w.programs,
	})
	e.control.executions = control.NewExecutions(control.ExecutionDeps{
		Admission: admitted, Executions: e.executions, Observer: e.observer, Programs: w.programs,
	})
	e.control.entities = control.NewEntities(control.EntityDeps{
		Admission: admitted, Catalog: e.catalog, Entities: e.entities, Store: e.store,
	})
	e.wireSchedules(w)
	e.deployments = deploy.New(deploy.Deps{
		Catalog:    e.catalog,
		Clock:      e.clock,
		Executions: e.executions,
		Host:       e.state,
		Logger:     e.log,
		Programs:   w.programs,
		Schedules:  e.schedules,
		Store:      e.store,
	})
	e.maintenance = maintenance.New(maintenance.Deps{
		Begin:         e.schedules.Recovered(),
		Clock:         e.clock,
		Fault:         w.fault,
		Host:          e.state,
		Logger:        e.log,
		Observer:      e.observer,
		RequestWindow: cfg.RequestWindow,
		Retention:     cfg.Retention,
		Store:         e.store,
		Writer:        e.writer,
	})
}

// wireSchedules builds the schedules. They have timers of their own: schedules are no executions.
func (e *Engine) wireSchedules(w *wiring) {
	e.ticks = timer.New(e.clock, func(id journal.ID) {
		if !e.state.Draining() {
			e.schedules.EnsureInMemory(id)
		}
	}, nil)
	e.schedules = schedule.New(schedule.Deps{
		Clock: e.clock, Context: e.state.Context(), Fault: w.fault, Logger: e.log,
		Declared: func(ctx context.Context, namespace, deployment string) ([]journal.Schedule, error) {
			return deploy.Declared(ctx, e.catalog, namespace, deployment)
		},
		Starter: launch.ForSchedules{Control: e.control.executions, Launcher: e.launcher},
		Store:   ownedSchedules{e.writer, e.store}, Timers: e.ticks,
	})
	e.control.schedules = control.NewSchedules(control.ScheduleDeps{Host: e.state, Schedules: e.schedules})
}
