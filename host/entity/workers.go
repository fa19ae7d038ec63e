package entity

import (
	"log/slog"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/cruster/cruster/host/actor"
	"github.com/cruster/cruster/host/budget"
	"github.com/cruster/cruster/host/entity/batch"
	"github.com/cruster/cruster/host/entity/commit"
	"github.com/cruster/cruster/host/entity/fault"
	"github.com/cruster/cruster/host/entity/lock"
	"github.com/cruster/cruster/host/entity/mailbox"
	"github.com/cruster/cruster/host/entity/metrics"
	"github.com/cruster/cruster/host/entity/parked"
	"github.com/cruster/cruster/host/entity/starts"
	"github.com/cruster/cruster/host/entity/stateless"
	"github.com/cruster/cruster/host/entity/target"
	"github.com/cruster/cruster/host/hoststate"
	"github.com/cruster/cruster/host/timer"
	"github.com/cruster/cruster/journal"
)

// maxAtWork bounds the tasks of entities at the same time. Tasks waiting for the store, for memory
// or for a slot count, so it is far more than compute.
const maxAtWork = 1024

// workers perform the tasks of all actors of a host, and have the places for these and the limits of entities.
type workers struct {
	batches *batch.Worker     // performs operations of entities with a state
	calls   *stateless.Worker // performs operations of entities without one
	inboxes *mailbox.Reader
	locks   *lock.Reader
	starter *starts.Starter

	commits *commit.Writer
	faults  *fault.Log
	holders lock.Holders
	host    *hoststate.State
	logger  *slog.Logger
	metrics *metrics.Metrics
	parked  *parked.Log

	clock  clockwork.Clock
	timers *timer.Heap
	// post reports to an actor.
	post post

	working *actor.FairQueue[journal.ID] // batches, reads and their preparation
	calling *actor.FairQueue[journal.ID] // calls of entities without a state

	idleTime    time.Duration
	queued      *budget.Budget
	evictAlways bool
}

// newWorkers makes workers whose tasks belong to a group. They report to no one yet.
func newWorkers(deps *Deps, targets target.Finder, group *actor.TaskGroup) *workers {
	w := &workers{
		clock:       deps.Clock,
		evictAlways: deps.EvictAlways,
		host:        deps.Host,
		idleTime:    deps.IdleTime,
		logger:      deps.Logger,
		metrics:     metrics.New(deps.Registerer),
		queued:      deps.Queued,
		working:     actor.NewFairQueue[journal.ID](group, maxAtWork),
		calling:     actor.NewFairQueue[journal.ID](group, deps.MaxCalls),
	}
	w.faults = &fault.Log{Count: w.metrics.Faults, Logger: w.logger}
	w.parked = &parked.Log{Count: w.metrics.Parked, Logger: w.logger}
	w.commits = &commit.Writer{
		Callers: deps.Callers, Clock: w.clock, Committer: deps.Committer, Fault: deps.Fault, Host: w.host,
		Logger: w.logger, Metrics: w.metrics, Store: deps.Store,
	}
	w.batches = &batch.Worker{
		Commits: w.commits, Fault: deps.Fault, Faults: w.faults, Guests: deps.Guests, Host: w.host, Logger: w.logger,
		Metrics: w.metrics, Parked: w.parked, Starts: deps.Starts, Store: deps.Store, Targets: targets,
	}
	w.calls = &stateless.Worker{
		Commits: w.commits, Faults: w.faults, Guests: deps.Guests, Host: w.host, Logger: w.logger, Metrics: w.metrics,
		Parked: w.parked, Targets: targets, Transactions: deps.Transactions,
	}
	w.inboxes = &mailbox.Reader{Host: w.host, Queued: w.queued, Store: deps.Store, Targets: targets}
	w.locks = &lock.Reader{Host: w.host, Store: deps.Store}
	w.starter = &starts.Starter{
		Commits: w.commits, Host: w.host, Parked: w.parked, Store: deps.Store, Workflows: deps.Starts,
	}
	return w
}

// begin starts a task of an entity, which receives its report. It returns false if the host starts no more tasks.
func (w *workers) begin(id journal.ID, places *actor.FairQueue[journal.ID], task func() message) bool {
	return places.Go(id, func() { w.post(id, task()) })
}

// now is the wall clock, Unix nanoseconds.
func (w *workers) now() int64 { return w.clock.Now().UnixNano() }

// setback has an entity pause after a failure of the host.
func (w *workers) setback(p *pause, id journal.ID, doing string, err error) {
	delay := p.begin(w.clock.Now())
	w.logger.Warn("entity step failed; retrying", "id", id, "doing", doing, "error", err, "delay", delay)
}
