package execution

import (
	"context"

	"github.com/cruster/cruster/host/execution/ledger"
)

// # Turns that are broken off
//
// A run receives nothing while its code computes, and code that never returns computes until its
// time is up, which is tried a few times. A caller that ends such an execution would wait for that.
// So while a request to end it waits, the turns of the run are aborted. The work of a turn counts
// for nothing until it is committed, so the run is unloaded. When it is loaded it finds the request
// in its inbox, and ends without a replay, which would take the turn again.
//
// The request is for one chain: if another run has taken its place, the turns of that one go on.

// cancelable returns a context that cancelTurn cancels, until end is called.
func (r *run) cancelable() (ctx context.Context, end func()) {
	return r.progress.cancelable(r.deps.Host.Context(), r.chain, r.eagerStart)
}

// beginTurn says that a turn begins. It has this context, and ends when end is called.
func (r *run) beginTurn() (ctx context.Context, end func()) {
	r.progress.since.Store(r.deps.now())
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

func (r *run) wasCanceled(ctx context.Context) bool { return ctx.Err() != nil && !r.deps.Host.Over() }
