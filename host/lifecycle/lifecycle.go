package lifecycle

import (
	"context"
	"sync/atomic"

	"github.com/cruster/cruster/abi"
)

// Lifecycle is the state of one host. It only moves forward.
type Lifecycle struct {
	ctx      context.Context
	end      context.CancelFunc
	started  chan struct{}
	draining atomic.Bool
	lost     atomic.Pointer[abi.Error] // set once ownership is lost
}

// New is the state of a host that is starting.
func New() *Lifecycle {
	ctx, end := context.WithCancel(context.Background())
	return &Lifecycle{ctx: ctx, end: end, started: make(chan struct{})}
}

// Context ends when the host is to stop doing things at once.
func (l *Lifecycle) Context() context.Context { return l.ctx }

// Over tells whether the host is to stop doing things at once.
func (l *Lifecycle) Over() bool { return l.ctx.Err() != nil }

// MarkStarted says that the host accepts work.
func (l *Lifecycle) MarkStarted() { close(l.started) }

// Started is closed once the host accepts work.
func (l *Lifecycle) Started() <-chan struct{} { return l.started }

// Drain says that the host begins nothing new: what runs may finish.
func (l *Lifecycle) Drain() { l.draining.Store(true) }

// Draining tells whether the host begins nothing new.
func (l *Lifecycle) Draining() bool { return l.draining.Load() }

// End ends the context: the host stops doing things at once.
func (l *Lifecycle) End() { l.end() }

// Lose records why the host has lost its shards, and ends it. It reports whether
// this was the first time.
func (l *Lifecycle) Lose(reason *abi.Error) bool {
	if !l.lost.CompareAndSwap(nil, reason) {
		return false
	}
	l.end()
	return true
}

// Lost is why the host has lost its shards; nil if it has not.
func (l *Lifecycle) Lost() error {
	if lost := l.lost.Load(); lost != nil {
		return lost
	}
	return nil
}

// Accepting tells why new work is refused: nil if it is not.
func (l *Lifecycle) Accepting() error {
	select {
	case <-l.started:
	default:
		return abi.Errorf(abi.CodeShuttingDown, "the host is starting")
	}
	if l.draining.Load() || l.Lost() != nil {
		return l.EndReason()
	}
	return nil
}

// EndReason is why a host that is over, or on its way out, does nothing more: another
// has taken over, or it is shutting down.
func (l *Lifecycle) EndReason() error {
	if lost := l.Lost(); lost != nil {
		return lost
	}
	return abi.Errorf(abi.CodeShuttingDown, "the host is shutting down")
}
