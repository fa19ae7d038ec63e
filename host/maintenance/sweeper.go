package maintenance

import (
	"context"
	"log/slog"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/cruster/cruster/host/faultpoint"
)

const (
	// sweepEvery is how often the sweeper looks for ended executions and receipts.
	sweepEvery = time.Minute
	// sweepPage is how much one call deletes, in small transactions. A call begins with the oldest,
	// and on Postgres walks over the rows that earlier calls have deleted, as far as they are not vacuumed
	// yet: so pages are large.
	sweepPage = 100_000
)

// Sweeper deletes rows some time after their end: finished executions, or receipts.
type Sweeper struct {
	// Begin is closed once executions may be deleted; nil means at once.
	Begin <-chan struct{}
	Clock clockwork.Clock
	Fault faultpoint.Injector
	// Before and After are the fault points around each page.
	Before, After string
	// Keep is how long it is kept.
	Keep   time.Duration
	Logger *slog.Logger
	// Sweep deletes at most limit rows that ended before a time, and returns how many: see
	// [journal.Maintenance].
	Sweep func(ctx context.Context, before int64, limit int) (int, error)
	// What names the deleted rows in the log.
	What string
}

// Run sweeps until ctx ends.
func (s *Sweeper) Run(ctx context.Context) {
	if s.Begin != nil {
		select {
		case <-ctx.Done():
			return
		case <-s.Begin:
		}
	}
	every := s.Clock.NewTicker(min(sweepEvery, s.Keep))
	defer every.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-every.Chan():
			s.sweep(ctx)
		}
	}
}

// sweep deletes page by page.
func (s *Sweeper) sweep(ctx context.Context) {
	for {
		s.Fault.Pass(s.Before)
		n, err := s.Sweep(ctx, s.Clock.Now().Add(-s.Keep).UnixNano(), sweepPage)
		if err != nil {
			s.Logger.Warn("deleting "+s.What+" failed", "error", err)
			return
		}
		s.Fault.Pass(s.After)
		if n < sweepPage {
			return
		}
	}
}
