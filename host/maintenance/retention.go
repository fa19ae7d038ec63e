package maintenance

import (
	"context"
	"log/slog"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/cruster/cruster/host/faultpoint"
)

const (
	// sweepEvery is how often finished executions are looked over.
	sweepEvery = time.Minute
	sweepPage  = 500
)

// Sweeper deletes finished executions: see [journal.Store].
type Sweeper interface {
	Sweep(ctx context.Context, finishedBefore int64, limit int) (int, error)
}

// Retention deletes finished executions once their time is over.
type Retention struct {
	// After is closed once executions may be deleted; nil means at once.
	After <-chan struct{}
	Clock clockwork.Clock
	Fault faultpoint.Injector
	// Keep is how long a finished execution is kept.
	Keep   time.Duration
	Logger *slog.Logger
	Store  Sweeper
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
		n, err := r.Store.Sweep(ctx, r.Clock.Now().Add(-r.Keep).UnixNano(), sweepPage)
		if err != nil {
			r.Logger.Warn("deleting finished executions failed", "error", err)
			return
		}
		r.Fault.Pass(faultpoint.SweepAfterCommit)
		if n < sweepPage {
			return
		}
	}
}
