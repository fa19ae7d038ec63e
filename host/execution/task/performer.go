package task

import (
	"context"
	"errors"
	"log/slog"

	"github.com/jonboulle/clockwork"
	"golang.org/x/sync/semaphore"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/activity"
	"github.com/cruster/cruster/host/actor"
	"github.com/cruster/cruster/host/budget"
	"github.com/cruster/cruster/host/execution/request"
	"github.com/cruster/cruster/host/faultpoint"
	"github.com/cruster/cruster/host/hoststate"
	"github.com/cruster/cruster/host/timer"
	"github.com/cruster/cruster/journal"
)

// Activities performs the attempts of activities.
type Activities interface {
	Perform(ctx context.Context, task activity.Task) activity.Report
}

// Callees starts the callees of steps.
type Callees interface {
	// LaunchCallee starts the callee of a step, or finds the execution that has its key already.
	LaunchCallee(
		ctx context.Context, caller *journal.Execution, step journal.Caller, call *abi.Call, awaited bool,
	) (_ *journal.Execution, existed bool, err error)
}

// Committer makes one write durable, fenced by the epoch of its shard.
type Committer interface {
	Commit(w journal.Write) (journal.Result, error)
}

// ErrLeft says that an entity will send its answer, as the caller wanted to leave memory.
var ErrLeft = errors.New("execution: the entity will send its answer")

// Entities performs the operations of executions on entities. A request of a step is performed
// once, however often it is sent. The row of a caller has the critical section in which it asks, if
// any. A caller that wants to leave memory while it waits closes left, and may get ErrLeft: then
// the answer comes as the result of a callee does.
type Entities interface {
	// Call has an entity perform an operation, and returns the outcome.
	Call(
		ctx context.Context, caller *journal.Execution, step journal.Caller, call *abi.EntityMessage,
		left <-chan struct{},
	) (abi.Outcome, error)
	// Lock locks entities for a step, one after the other. Those that are locked stay so, also if
	// others are not, until the section of the step ends. If the answer comes later, it says that
	// the step is to ask again.
	Lock(
		ctx context.Context, caller *journal.Execution, step journal.Caller, lock *abi.Lock, left <-chan struct{},
	) error
	// Send hands an operation over to an entity, and returns once that is durable.
	Send(ctx context.Context, caller *journal.Execution, step journal.Caller, call *abi.EntityMessage) error
}

// Runs are the runs that tasks work for.
type Runs interface {
	// Report tells a run about a task. Another run that has its name by then does not get it.
	Report(to journal.ID, run journal.RunID, r Report)
	// DeliverAhead has a run take the turn that the entry of a transaction causes before the transaction commits, and
	// calls commit with the write of both. It reports false without an error if it has not called commit. RowWrites is
	// the run's count of writes of its row when the task began.
	DeliverAhead(
		to journal.ID, run journal.RunID, rowWrites uint64, entry journal.Entry, commit func(journal.Write) error,
	) (delivered bool, err error)
}

// Store is the part of the store that tasks read.
type Store interface {
	Callee(ctx context.Context, step journal.Caller) (*journal.Execution, error)
}

// Deps are the dependencies of a [Performer].
type Deps struct {
	Activities Activities
	Callees    Callees
	Clock      clockwork.Clock
	Committer  Committer
	// Delivering is the budget of large values on their way from the store: see package largevalue.
	Delivering *budget.Budget
	Entities   Entities
	Fault      faultpoint.Injector
	// Group has the goroutines of tasks.
	Group  *actor.TaskGroup
	Host   *hoststate.State
	Logger *slog.Logger
	// MaxActivities bounds the attempts of activities that run at the same time.
	MaxActivities int
	// MaxOutcomes is how many bytes of outcomes may wait for their delivery before no further attempt of an activity,
	// or read of an outcome, begins. 0 is no limit.
	MaxOutcomes int64
	Messages    *request.Sender
	Rows        request.Rows
	Runs        Runs
	Store       Store
}

// now is the wall clock, Unix nanoseconds.
func (d *Deps) now() int64 { return d.Clock.Now().UnixNano() }

// Performer performs the ops of all runs of a host.
type Performer struct {
	Deps
	born       int64                        // when this host began
	alone      *semaphore.Weighted          // for attempts that run alone: see attempts.go
	performing *actor.FairQueue[journal.ID] // the attempts of activities, by execution
	reading    *actor.FairQueue[journal.ID] // reads of outcomes of other executions, by the execution that reads
	starting   starting
	outcomes   outcomes
}

// NewPerformer returns a performer without tasks. The host begins now.
func NewPerformer(deps Deps) *Performer {
	p := &Performer{
		Deps:       deps,
		born:       deps.now(),
		alone:      semaphore.NewWeighted(1),
		performing: actor.NewFairQueue[journal.ID](deps.Group, deps.MaxActivities),
		reading:    actor.NewFairQueue[journal.ID](deps.Group, MaxReading),
	}
	p.outcomes.limit, p.outcomes.queues = deps.MaxOutcomes, []*actor.FairQueue[journal.ID]{p.performing, p.reading}
	return p
}

// hold has no further attempt or read of an execution begin.
func (p *Performer) hold(id journal.ID) {
	p.performing.Hold(id)
	p.reading.Hold(id)
}

// resume ends hold.
func (p *Performer) resume(id journal.ID) {
	p.performing.Resume(id)
	p.reading.Resume(id)
}

// hostTries bounds the tries of an op if the host is to blame for its failure: the engine, or a damaged row.
const hostTries = 5

// retryUntilDecided repeats do until it succeeds, fails for good, ctx ends or the host drains: a failure of the store
// is not the outcome of an op. A failure of the host that does not pass is the outcome after [hostTries]. It reports
// whether there is an outcome.
func (p *Performer) retryUntilDecided(
	ctx context.Context, doing string, do func() error,
) (failure *abi.Error, decided bool) {
	for n := range timer.Tries(ctx, p.Clock) {
		err := do()
		switch {
		case err == nil:
			return nil, true
		case ctx.Err() != nil || p.Host.Draining():
			return nil, false
		case !abi.IsOfHost(err) || abi.IsHostFault(err) && n >= hostTries:
			return abi.AsError(err), true
		}
		p.Logger.Warn("trying again", "doing", doing, "error", err, "try", n)
	}
	return nil, false
}

// OutcomeBytes is how many bytes of outcomes the runs have not delivered yet.
func (p *Performer) OutcomeBytes() int64 { return p.outcomes.total() }

// AwaitStarts waits until no task is at work on the start of a callee for a step, or for any of a run if there is no
// step.
func (p *Performer) AwaitStarts(ctx context.Context, of journal.Caller) error {
	return p.starting.await(ctx, of)
}

// Waiting counts the attempts and the reads that wait for their turn.
func (p *Performer) Waiting() int { return p.performing.Waiting() + p.reading.Waiting() }
