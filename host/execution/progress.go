package execution

import (
	"context"
	"sync/atomic"

	"github.com/cruster/cruster/journal"
)

// underWay is a turn, or a replay, that can be broken off. Everything for which a run lets its code
// compute is one.
type underWay struct {
	cancel context.CancelFunc
	chain  journal.RunID // whose code computes; zero while a load has not found out
	head   *eagerStart   // whose turn it may be; or nil
}

// progress is the turn for which a run lets its code compute, as other goroutines see it.
type progress struct {
	since atomic.Int64             // when the turn began; 0 if there is none, or it is a replay
	turn  atomic.Pointer[underWay] // nil if there is none
}

// cancelable returns a context that cancel cancels, until end is called. Chain is the chain whose code computes, head
// the eager start of the run; or nil.
func (p *progress) cancelable(
	ctx context.Context, chain journal.RunID, head *eagerStart,
) (_ context.Context, end func()) {
	ctx, cancel := context.WithCancel(ctx)
	p.turn.Store(&underWay{cancel, chain, head})
	return ctx, func() {
		p.turn.Store(nil)
		cancel()
	}
}

// found names the chain of the run that a load has found.
func (p *progress) found(chain journal.RunID) {
	if turn := p.turn.Load(); turn != nil {
		p.turn.Store(&underWay{turn.cancel, chain, turn.head})
	}
}

// cancel breaks off the turn, if it is one of a chain. It reports whether it is one of another chain.
func (p *progress) cancel(chain journal.RunID) (other bool) {
	turn := p.turn.Load()
	if turn == nil || turn.chain != chain {
		return turn != nil && !turn.chain.IsZero()
	}
	turn.cancel()
	turn.head.discard()
	return false
}
