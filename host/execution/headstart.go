package execution

import (
	"context"
	"errors"
	"sync"

	"github.com/cruster/cruster/host/budget"
	"github.com/cruster/cruster/host/guest"
	"github.com/cruster/cruster/journal"
)

// headStart is the first turn of an execution, taken while its start is being committed:
// a flush of the disk takes longer than most first turns, and there is nothing else to do
// for the execution meanwhile.
//
// Invariants: nothing of it leaves the host before the start is durable. A first turn only
// computes; what it issued, logged and returned is in the turn, and the run lets that out
// when it has taken the turn over, which it does after it was told of a durable start. If
// there is no such start the instance is reset, and nothing has happened. The caller of the
// start does not wait for it. And it takes only what is free: it neither waits for memory
// nor evicts others, since the start may be one of an execution that is there already.
//
// The turn is a function of the row alone, so a head start that came to nothing is no loss:
// the run takes the turn itself, and finds out what is wrong with it.
type headStart struct {
	over chan struct{} // closed when the turn is over

	mu       sync.Mutex
	guest    *admitted  // guarded by mu; nil while the turn is under way, and if it came to nothing
	turn     guest.Turn // guarded by mu
	unwanted bool       // guarded by mu
}

// headStart begins the first turn of an execution that is about to be started. It returns
// nil if there is no room for it.
func (x *Executions) headStart(row *journal.Execution) *headStart {
	if x.NoHeadStarts || x.Host.Draining() {
		return nil
	}
	h := &headStart{over: make(chan struct{})}
	if !x.group.Go(func() {
		defer close(h.over)
		if f := guarded(func() { h.take(x, row) }); f != nil {
			x.Logger.Warn("a first turn ahead of its start failed; it is taken again", "execution", row.Name(), "fault", f.what)
		}
	}) {
		return nil
	}
	return h
}

// take takes the turn.
func (h *headStart) take(x *Executions, row *journal.Execution) {
	var g *admitted
	kept := false
	defer func() {
		if g != nil && !kept {
			g.Close()
		}
	}()
	turn, err := x.startGuest(x.Host.Context(), row, x.OpenGuest, x.admitNow, func(made *admitted) { g = made })
	if err != nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.unwanted {
		h.guest, h.turn, kept = g, turn, true
	}
}

var errNoRoom = errors.New("execution: no memory to spare")

// admitNow is a permit for an instance if there is memory to spare.
func (x *Executions) admitNow(_ context.Context, bytes int64) (*budget.Permit, error) {
	permit, ok := x.Memory.TryAcquire(bytes)
	if !ok {
		return nil, errNoRoom
	}
	return permit, nil
}

// result waits for the end of the turn, and hands the guest over. It reports false if the
// turn came to nothing.
func (h *headStart) result() (*admitted, guest.Turn, bool) {
	if h == nil {
		return nil, guest.Turn{}, false
	}
	<-h.over
	h.mu.Lock()
	defer h.mu.Unlock()
	g := h.guest
	h.guest, h.unwanted = nil, true
	return g, h.turn, g != nil
}

// discard says that the result is not wanted. It does not wait.
func (h *headStart) discard() {
	if h == nil {
		return
	}
	h.mu.Lock()
	g := h.guest
	h.guest, h.unwanted = nil, true
	h.mu.Unlock()
	if g != nil {
		g.Close()
	}
}
