package execution

import (
	"context"
	"time"

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

// cancelable returns a context that cancelTurn cancels, until end is called.
func (r *run) cancelable() (ctx context.Context, end func()) {
	ctx, cancel := context.WithCancel(r.execs.Host.Context())
	r.turn.Store(&underWay{cancel, r.eagerStart})
	return ctx, func() {
		r.turn.Store(nil)
		cancel()
	}
}

// beginTurn says that a turn begins. It has this context, and ends when end is called.
func (r *run) beginTurn() (ctx context.Context, end func()) {
	r.turnSince.Store(r.execs.now())
	ctx, ended := r.cancelable()
	return ctx, func() {
		ended()
		r.turnSince.Store(0)
	}
}

// turnCanceled reports whether a turn was cancelled, and rebuilds the run if so.
func (r *run) turnCanceled(ctx context.Context, b batch) bool {
	if !r.wasCanceled(ctx) {
		return false
	}
	r.reload(b)
	return true
}

func (r *run) wasCanceled(ctx context.Context) bool { return ctx.Err() != nil && !r.execs.Host.Over() }

// cancelTurns cancels the turns of an execution until stop is called.
func (x *Executions) cancelTurns(id journal.ID) (stop func()) {
	done, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		ticker := x.Clock.NewTicker(cancelInterval)
		defer ticker.Stop()
		for {
			x.cancelTurn(id)
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
func (x *Executions) cancelTurn(id journal.ID) {
	r, found := x.runs.Get(id)
	if !found {
		return
	}
	if turn := r.turn.Load(); turn != nil {
		turn.cancel()
		turn.head.discard()
	}
}
