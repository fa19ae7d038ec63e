package maintenance

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/cruster/cruster/host/faultpoint"
	"github.com/cruster/cruster/host/hoststate"
	"github.com/cruster/cruster/host/observe"
	"github.com/cruster/cruster/journal"
)

// purgeEvery is how often rows of runs that are gone are looked for: a workflow that continues again and
// again leaves many.
const purgeEvery = 10 * time.Second

// Writer deletes under the fences of the host: see [journal.Maintenance].
type Writer interface {
	// Delete deletes a finished run, unless it was superseded since it was read.
	Delete(ctx context.Context, row *journal.Execution) error
	Purge(ctx context.Context, before int64, limit int) (int, error)
	Sweep(ctx context.Context, finishedBefore int64, limit int) (int, error)
	SweepLocks(ctx context.Context, before int64, limit int) (int, error)
	SweepReceipts(ctx context.Context, before int64, limit int) (int, error)
}

// Store is the part of the store that deletion reads.
type Store interface {
	Earlier(ctx context.Context, id journal.ID, after uint64, limit int) ([]journal.Execution, error)
}

// Deps are the dependencies of maintenance.
type Deps struct {
	// Begin is closed once finished executions may be swept.
	Begin    <-chan struct{}
	Clock    clockwork.Clock
	Fault    faultpoint.Injector
	Host     *hoststate.State
	Logger   *slog.Logger
	Observer *observe.Observer
	// RequestWindow is how long receipts are kept.
	RequestWindow time.Duration
	// Retention is how long finished executions are kept; 0 means for ever.
	Retention time.Duration
	Store     Store
	Writer    Writer
}

// Maintenance deletes.
type Maintenance struct{ deps Deps }

// New returns the maintenance of a host.
func New(deps Deps) *Maintenance { return &Maintenance{deps} }

// Run sweeps until ctx ends.
func (m *Maintenance) Run(ctx context.Context) {
	var sweeps sync.WaitGroup
	defer sweeps.Wait()
	for _, s := range m.sweepers() {
		sweeps.Go(func() { s.Run(ctx) })
	}
}

func (m *Maintenance) sweepers() []*Sweeper {
	garbage := &Sweeper{
		Clock:  m.deps.Clock,
		Keep:   purgeEvery,
		Logger: m.deps.Logger,
		Sweep:  m.deps.Writer.Purge,
		What:   "rows of runs that are gone",
		Fault:  m.deps.Fault,
		Before: faultpoint.PurgeBeforeCommit,
		After:  faultpoint.PurgeAfterCommit,
	}
	sweepers := []*Sweeper{
		garbage,
		{
			Clock:  m.deps.Clock,
			Keep:   m.deps.RequestWindow,
			Logger: m.deps.Logger,
			Sweep:  m.deps.Writer.SweepReceipts,
			What:   "receipts",
		},
		{
			Clock:  m.deps.Clock,
			Keep:   time.Minute,
			Logger: m.deps.Logger,
			Sweep:  m.deps.Writer.SweepLocks,
			What:   "locks that no one holds",
		},
	}
	if m.deps.Retention > 0 {
		garbage.Keep = min(purgeEvery, m.deps.Retention)
		sweepers = append(sweepers, &Sweeper{
			Begin:  m.deps.Begin,
			Clock:  m.deps.Clock,
			Keep:   m.deps.Retention,
			Logger: m.deps.Logger,
			Sweep:  m.deps.Writer.Sweep,
			What:   "finished executions",
			Fault:  m.deps.Fault,
			Before: faultpoint.SweepBeforeCommit,
			After:  faultpoint.SweepAfterCommit,
		})
	}
	return sweepers
}
