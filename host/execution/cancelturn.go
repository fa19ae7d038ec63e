package execution

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/cruster/cruster/host/execution/ledger"
	"github.com/cruster/cruster/journal"
)

// # Turns that are broken off
//
// A run receives nothing while its code computes, and code that never returns computes until its
// time is up, which is tried a few times. A caller that ends such an execution would wait for that.
// So while a request to end it waits, the turns of the run are aborted. The work of a turn counts
// for nothing until it is committed, so the run is unloaded. When it is loaded it finds the request
// in its inbox, and ends without a replay, which would take the turn again.

// cancelInterval is the interval between two tries to cancel a turn. One may have begun just after
// the last look.
const cancelInterval = 100 * time.Millisecond

// underWay is a turn, or a replay, that can be broken off. Everything for which a run lets its code
// compute is one.
type underWay struct {
	cancel context.CancelFunc
	head   *eagerStart // whose turn it may be; or nil
}

// progress is the turn for which a run lets its code compute, as other goroutines see it.
type progress struct {
	since atomic.Int64             // when the turn began; 0 if there is none, or it is a replay
	turn  atomic.Pointer[underWay] // nil if there is none
}

// cancelable returns a context that cancel cancels, until end is called. Head is the eager start of
// the run; or nil.
func (p *progress) cancelable(ctx context.Context, head *eagerStart) (_ context.Context, end func()) {
	ctx, cancel := context.WithCancel(ctx)
	p.turn.Store(&underWay{cancel, head})
	return ctx, func() {
		p.turn.Store(nil)
		cancel()
	}
}

// cancel breaks off the turn, if there is one.
func (p *progress) cancel() {
	if turn := p.turn.Load(); turn != nil {
		turn.cancel()
		turn.head.discard()
	}
}

// cancelable returns a context that cancelTurn cancels, until end is called.
func (r *run) cancelable() (ctx context.Context, end func()) {
	return r.progress.cancelable(r.execs.Host.Context(), r.eagerStart)
}

// beginTurn says that a turn begins. It has this context, and ends when end is called.
func (r *run) beginTurn() (ctx context.Context, end func()) {
	r.progress.since.Store(r.execs.now())
	ctx, ended := r.cancelable()
	return ctx, func() {
		ended()
		r.progress.since.Store(0)
	}
}

// turnCanceled reports whether a turn was cancelled, and rebuilds the run if so.
func (r *run) turnCanceled(ctx context.Context, b ledger.Batch) bool {
	if !r.wasCanceled(ctx) {
		return false
	}
	r.reload(b)
	return true
}

func (r *run) wasCanceled(ctx context.Context) bool { return ctx.Err() != nil && !r.execs.Host.Over() }

// cancelTurns cancels the turns of an execution until stop is called.
func (s *Stops) cancelTurns(id journal.ID) (stop func()) {
	done, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		ticker := s.runs.deps.Clock.NewTicker(cancelInterval)
		defer ticker.Stop()
		for {
			s.cancelTurn(id)
			select {
			case <-done:
				return
			case <-ticker.Chan():
			}
		}
	}()
	return func() { close(done); <-over }
}

// cancelTurn cancels the running turn, if there is one.
func (s *Stops) cancelTurn(id journal.ID) {
	if r, found := s.runs.runs.Get(id); found {
		r.progress.cancel()
	}
}
