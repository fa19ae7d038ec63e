package execution

import (
	"context"
	"sync/atomic"
)

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
