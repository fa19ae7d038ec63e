package hoststate

import (
	"context"
	"sync/atomic"

	"github.com/cruster/cruster/abi"
)

// State is the state of one host. It only moves forward.
type State struct {
	ctx      context.Context
	end      context.CancelFunc
	started  chan struct{}
	draining atomic.Bool
	drains   chan struct{}             // closed once draining is set
	lost     atomic.Pointer[abi.Error] // set once ownership is lost
}

// New is the state of a host that is starting.
func New() *State {
	ctx, end := context.WithCancel(context.Background())
	return &State{ctx: ctx, end: end, started: make(chan struct{}), drains: make(chan struct{})}
}

// Context ends when the host is to stop doing things at once.
func (s *State) Context() context.Context { return s.ctx }

// Over tells whether the host is to stop doing things at once.
func (s *State) Over() bool { return s.ctx.Err() != nil }

// MarkStarted says that the host accepts work.
func (s *State) MarkStarted() { close(s.started) }

// Started is closed once the host accepts work.
func (s *State) Started() <-chan struct{} { return s.started }

// Drain says that the host begins nothing new: running work may finish.
func (s *State) Drain() {
	if s.draining.CompareAndSwap(false, true) {
		close(s.drains)
	}
}

// Drains is closed once the host begins nothing new.
func (s *State) Drains() <-chan struct{} { return s.drains }

// Draining tells whether the host begins nothing new.
func (s *State) Draining() bool { return s.draining.Load() }

// End ends the context: the host stops doing things at once.
func (s *State) End() { s.end() }

// Lose records why the host has lost its shards, and ends it. It reports whether this was the first time.
func (s *State) Lose(reason *abi.Error) bool {
	if !s.lost.CompareAndSwap(nil, reason) {
		return false
	}
	s.end()
	return true
}

// Lost is why the host has lost its shards; nil if it has not.
func (s *State) Lost() error {
	if lost := s.lost.Load(); lost != nil {
		return lost
	}
	return nil
}

// Accepting tells why new work is refused: nil if it is not.
func (s *State) Accepting() error {
	select {
	case <-s.started:
	default:
		return abi.Errorf(abi.CodeShuttingDown, "the host is starting")
	}
	if s.draining.Load() || s.Lost() != nil {
		return s.EndReason()
	}
	return nil
}

// EndReason is why a host that has stopped, or is stopping, does nothing more: another has taken over, or it is
// shutting down.
func (s *State) EndReason() error {
	if lost := s.Lost(); lost != nil {
		return lost
	}
	return abi.Errorf(abi.CodeShuttingDown, "the host is shutting down")
}
