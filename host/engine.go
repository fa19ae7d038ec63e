package host

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/cruster/cruster/host/catalog"
	"github.com/cruster/cruster/host/control"
	"github.com/cruster/cruster/host/deploy"
	"github.com/cruster/cruster/host/egress"
	"github.com/cruster/cruster/host/entity"
	"github.com/cruster/cruster/host/execution"
	"github.com/cruster/cruster/host/faultpoint"
	"github.com/cruster/cruster/host/hoststate"
	"github.com/cruster/cruster/host/launch"
	"github.com/cruster/cruster/host/maintenance"
	"github.com/cruster/cruster/host/memory"
	"github.com/cruster/cruster/host/observe"
	"github.com/cruster/cruster/host/recovery"
	"github.com/cruster/cruster/host/schedule"
	"github.com/cruster/cruster/host/timer"
	"github.com/cruster/cruster/host/wasm"
	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/sharding"
)

// DefaultNamespace is the tenant of requests that name none.
const DefaultNamespace = journal.DefaultNamespace

// Engine is the durable engine of one host. Make one with [New], start it with [Engine.Start], stop it with
// [Engine.Stop].
type Engine struct {
	catalog *catalog.Catalog
	cfg     Config
	clock   clockwork.Clock
	egress  *egress.Client
	log     *slog.Logger
	state   *hoststate.State
	store   journal.Store
	ticks   *timer.Heap // of schedules
	timers  *timer.Heap
	wasm    *wasm.Runtime
	writer  *writer

	entities   *entity.Entities
	executions *execution.Executions
	schedules  *schedule.Schedules

	control struct {
		entities   *control.Entities
		executions *control.Executions
		schedules  *control.Schedules
	}
	deployments *deploy.Deployments
	launcher    *launch.Launcher
	maintenance *maintenance.Maintenance
	memory      *memory.Shares
	observer    *observe.Observer

	background sync.WaitGroup // the goroutines of Start
	stop       sync.Once
}

// Deployments pushes modules, and checks and lists deployments.
func (e *Engine) Deployments() *deploy.Deployments { return e.deployments }

// Entities performs requests to entities.
func (e *Engine) Entities() *control.Entities { return e.control.entities }

// Executions performs requests to executions.
func (e *Engine) Executions() *control.Executions { return e.control.executions }

// Launcher starts executions.
func (e *Engine) Launcher() *launch.Launcher { return e.launcher }

// Maintenance deletes executions.
func (e *Engine) Maintenance() *maintenance.Maintenance { return e.maintenance }

// Memory admits requests to their share of the memory.
func (e *Engine) Memory() *memory.Shares { return e.memory }

// Observer reads executions.
func (e *Engine) Observer() *observe.Observer { return e.observer }

// Schedules performs requests to schedules.
func (e *Engine) Schedules() *control.Schedules { return e.control.schedules }

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
		cfg: cfg, clock: timer.NewSlewedClock(cfg.Clock), log: cfg.Logger, store: cfg.Store, state: state,
		wasm: runtime, egress: egress.NewClient(cfg.Egress),
	}
	e.wire()
	return e, nil
}

// Start claims the shards, which fences every earlier owner, and brings back the running
// executions. It returns once the engine accepts work; recovery goes on in the background.
func (e *Engine) Start(ctx context.Context) error {
	injector := faultpoint.Injector(e.cfg.UnderTest.FaultPoint)
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
	for _, run := range []func(context.Context){
		e.timers.Run, e.recoverExecutions, e.executions.EvictIdle, e.ticks.Run, e.recoverSchedules, e.closeSchedules,
		e.entities.Run, e.entities.Recover, e.entities.ScanInboxes, e.maintenance.Run,
	} {
		e.background.Go(func() { run(e.state.Context()) })
	}
	return nil
}

// recoverExecutions brings back due executions, until ctx ends.
func (e *Engine) recoverExecutions(ctx context.Context) {
	s := recovery.Scanner{
		Clock:       e.clock,
		Executions:  e.executions,
		HasRoom:     e.executions.HasRoom,
		Logger:      e.log,
		Mail:        e.store,
		Store:       e.store,
		Timers:      e.timers,
		WakeForMail: e.executions.WakeForMail,
	}
	s.Run(ctx)
}

// recoverSchedules brings back due schedules, until ctx ends. They have timers of their own: schedules are no
// executions.
func (e *Engine) recoverSchedules(ctx context.Context) {
	s := recovery.Scanner{
		Clock: e.clock, Executions: e.schedules, HasRoom: e.schedules.HasRoom, Logger: e.log.With("of", "schedules"),
		Scanned: e.schedules.Scanned, Store: dueSchedules{e.store}, Timers: e.ticks,
	}
	s.Run(ctx)
}

// closeSchedules closes the schedules when ctx ends.
func (e *Engine) closeSchedules(ctx context.Context) {
	<-ctx.Done()
	e.schedules.Close()
}

// Started is closed once the engine accepts work.
func (e *Engine) Started() <-chan struct{} { return e.state.Started() }

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

// releaseAttempts has executions say that the attempts under way are given up, so that they do not count as lost.
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

// Ready tells whether the engine makes progress: it owns its shards, its store commits, and it is not on its way out.
func (e *Engine) Ready(ctx context.Context) error {
	if err := e.state.Accepting(); err != nil {
		return err
	}
	if err := e.store.Ping(ctx); err != nil {
		return journal.Coded("ping", err)
	}
	return nil
}

// Lost tells that another host has taken over: it returns the reason once that has happened, nil before.
func (e *Engine) Lost() error { return e.state.Lost() }
