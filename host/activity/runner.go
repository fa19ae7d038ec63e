package activity

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/budget"
	"github.com/cruster/cruster/host/catalog"
	"github.com/cruster/cruster/host/effects"
	"github.com/cruster/cruster/host/faultpoint"
	"github.com/cruster/cruster/host/follow"
	"github.com/cruster/cruster/host/hoststate"
	"github.com/cruster/cruster/host/timer"
	"github.com/cruster/cruster/journal"
)

// Store holds the methods of a store that activities need: see [journal.Store].
type Store interface {
	BeginGuest(ctx context.Context, namespace string) (journal.GuestTx, error)
	journal.EntryReader
}

// Catalog finds the code and the settings of an activity.
type Catalog interface {
	Module(ctx context.Context, digest string) (*catalog.Module, error)
	Deployment(ctx context.Context, namespace, name string) (*catalog.Deployment, error)
}

// TxCommitter commits the transaction of an activity together with a write, or a write alone, fenced by the epoch of
// its shard.
type TxCommitter interface {
	Commit(w journal.Write) (journal.Result, error)
	CommitTx(ctx context.Context, tx journal.GuestTx, w journal.Write) error
}

// Deps are the dependencies of a [Runner].
type Deps struct {
	Catalog   Catalog
	Clock     clockwork.Clock
	Committer TxCommitter
	Egress    effects.Egress
	Fault     faultpoint.Injector
	// Followers get the log lines of activities; nil means that there are none.
	Followers *follow.List
	// Fuel bounds the computation of an attempt; 0 is no limit.
	Fuel   int64
	Host   *hoststate.State
	Logger *slog.Logger
	// Memory is the budget for instances.
	Memory *budget.Budget
	// Random yields numbers from 0 to 1, for jitter.
	Random     func() float64
	Registerer prometheus.Registerer
	Store      Store
	// Timeout bounds an attempt of an activity that names no timeout of its own.
	Timeout time.Duration
}

// Runner runs attempts of activities.
type Runner struct {
	Deps
	metrics *metrics
}

// NewRunner makes a runner.
func NewRunner(deps Deps) *Runner {
	return &Runner{Deps: deps, metrics: newMetrics(deps.Registerer)}
}

// Task is one activity op to be performed.
type Task struct {
	// Row is the execution; the runner does not change it.
	Row  *journal.Execution
	Op   journal.Op
	Body *abi.Activity
	// Failed counts the attempts before this one.
	Failed uint32
	// Begin is called once, when code of the activity is about to run as soon as there is memory for it. It reports
	// whether it may; nil means that it may.
	Begin func(ctx context.Context) bool
	// Reserve gives the entry of a transaction its place in the journal. It reports false if the op is no longer waited
	// for.
	Reserve func(ctx context.Context, value []byte, attempts uint32) (journal.Entry, bool)
	// Deliver has the execution take the turn that the entry of a transaction causes while the transaction is open, and
	// commit that turn with it: by commit, which it calls once. It reports false if it cannot do so now, and then has
	// not called commit: the entry is committed alone. It never waits for anything but the turn and the commit. An
	// error comes from commit. Nil means that it never can.
	Deliver func(entry journal.Entry, commit func(w journal.Write) error) (delivered bool, err error)
	// Void says that the place with this sequence number stays empty.
	Void func(seq uint64)
}

// Report is the outcome of a task.
type Report interface{ isReport() }

type (
	// Done is an outcome that is not journaled yet.
	Done struct {
		Outcome  abi.Outcome
		Attempts uint32
	}
	// Failed is a failed attempt. Another may follow.
	Failed struct{ Err *abi.Error }
	// Committed is an entry that a transaction has made durable. Delivered says that the execution has taken its turn
	// already, and that this is durable too.
	Committed struct {
		Entry     journal.Entry
		Delivered bool
	}
	// Dropped says that the op was no longer waited for when its outcome was there.
	Dropped struct{}
	// Stuck says that the host cannot run the activity, and that trying again did not help. It says nothing about the
	// activity: no attempt has ended.
	Stuck struct{ Err *abi.Error }
)

func (Done) isReport()      {}
func (Failed) isReport()    {}
func (Committed) isReport() {}
func (Dropped) isReport()   {}
func (Stuck) isReport()     {}

// conflictLimit is how often an attempt is repeated because its transaction collided with others, before that counts as
// a failed attempt.
const conflictLimit = 25

// stuckLimit is how often the host tries to run an attempt that it cannot run for a reason which does not look as if it
// would pass: the module is gone, or does not initialise any more.
const stuckLimit = 6

// Perform runs one attempt of an activity. If ctx ends first then the op is no longer waited for, or the host goes down
// and the attempt will be repeated: it reports nil, unless a transaction was committed. The execution delivers nothing
// else until it knows of that.
func (r *Runner) Perform(ctx context.Context, task Task) Report {
	if ctx.Err() != nil || r.Host.Draining() {
		return nil
	}
	a := newAttempt(r, task)
	r.Fault.Pass(faultpoint.ActivityBefore)
	for conflicts, failures := 0, 0; ctx.Err() == nil; {
		report, err := a.run(journal.AfterConflicts(ctx, conflicts))
		switch {
		case err == nil:
			return r.observe(ctx, report)
		case r.Host.Draining():
			return nil // the next owner repeats it
		case !errors.Is(err, journal.ErrConflict):
			// The store or the host is to blame, not the activity.
			if failures++; failures >= stuckLimit && !abi.IsTransient(err) {
				return r.observe(ctx, Stuck{abi.AsError(err)})
			}
			a.waitToRepeat(ctx, err, failures)
		case conflicts < conflictLimit:
			conflicts++
			a.logConflict(err)
			r.wait(ctx, conflictDelay(conflicts, r.Random))
		default:
			return Failed{
				abi.Errorf(abi.CodeTxConflict, "activity %q: %v, %d times in a row", task.Body.Name, err, conflicts),
			}
		}
	}
	return nil
}

// observe counts a report, and drops it if it is not waited for any more. A durable report always counts.
func (r *Runner) observe(ctx context.Context, report Report) Report {
	if _, durable := report.(Committed); !durable && (report == nil || ctx.Err() != nil) {
		return nil
	}
	r.metrics.observeAttempt(report)
	return report
}

// wait sleeps unless ctx ends first.
func (r *Runner) wait(ctx context.Context, d time.Duration) {
	timer.Wait(ctx, r.Clock, d)
}
