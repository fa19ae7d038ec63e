package maintenance

import (
	"context"
	"log/slog"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/cruster/cruster/host/faultpoint"
)

const (
	// sweepEvery is how often what is over is looked over.
	sweepEvery = time.Minute
	sweepPage  = 500
)

// Retention deletes what was over for long enough: finished executions, or receipts.
type Retention struct {
	// After is closed once executions may be deleted; nil means at once.
	After <-chan struct{}
	Clock clockwork.Clock
	Fault faultpoint.Injector
	// Keep is how long it is kept.
	Keep   time.Duration
	Logger *slog.Logger
	// Sweep deletes at most limit of those that were over before a time, and returns how
	// many: see [journal.Maintenance].
	Sweep func(ctx context.Context, before int64, limit int) (int, error)
	// What is deleted, in the words of the log.
	What string
}

// Run sweeps until ctx ends.
func (r *Retention) Run(ctx context.Context) {
	if r.After != nil {
		select {
		case <-ctx.Done():
			return
		case <-r.After:
		}
	}
	every := r.Clock.NewTicker(min(sweepEvery, r.Keep))
	defer every.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-every.Chan():
			r.sweep(ctx)
		}
	}
}

// sweep deletes page by page.
func (r *Retention) sweep(ctx context.Context) {
	for {
		r.Fault.Pass(faultpoint.SweepBeforeCommit)
		n, err := r.Sweep(ctx, r.Clock.Now().Add(-r.Keep).UnixNano(), sweepPage)
		if err != nil {
			r.Logger.Warn("deleting "+r.What+" failed", "error", err)
			return
		}
		r.Fault.Pass(faultpoint.SweepAfterCommit)
		if n < sweepPage {
			return
		}
	}
}
