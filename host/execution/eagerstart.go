package execution

import (
	"context"
	"sync"

	"github.com/cruster/cruster/host/execution/instance"
	"github.com/cruster/cruster/host/guest"
)

// eagerStart is the first turn of an execution, taken while its start is being committed: a flush of the disk takes
// longer than most first turns, and there is nothing else to do for the execution meanwhile.
//
// Invariants: nothing of it leaves the host before the start is durable. A first turn only
// computes; its ops, log lines and result are in the turn, and the run releases them when it has
// taken the turn over, which it does after it was told of a durable start. If there is no such
// start the instance is reset, and nothing has happened. The caller of the start does not wait for
// it. And it begins only with free memory: it neither waits for memory nor evicts others to get its
// instance, since the execution may exist already. A guest that grows in the turn takes its memory
// as in any turn, and may evict others: an aborted turn would be taken once more, and most starts
// are new.
//
// The turn is a function of the row alone. So a guest that did not survive it would not survive it if the run took it:
// the failure is the run's own, its first crash, and not found out once more. An endless turn would take all of its
// time twice. Whatever else ends an eager start says nothing about the guest (there is no memory, it was discarded, the
// host ends or panicked): that came to nothing, and is no loss, since the run takes the turn itself.
type eagerStart struct {
	heads  *eagerStarts
	over   chan struct{} // closed when the turn has ended
	cancel context.CancelFunc

	mu       sync.Mutex
	guest    *instance.Admitted // guarded by mu; nil while the turn is under way, and if there is none to hand over
	turn     guest.Turn         // guarded by mu
	failed   error              // guarded by mu; how the guest failed in the turn, or nil
	unwanted bool               // guarded by mu
}

// eagerStarts are the eager starts whose turn has ended and whose run has not taken it yet. That
// run may wait for a place, and all places may be taken by runs that wait for memory: so their
// memory can be reclaimed.
type eagerStarts struct {
	mu  sync.Mutex
	all map[*eagerStart]struct{} // guarded by mu
}

func (s *eagerStarts) add(h *eagerStart) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = map[*eagerStart]struct{}{}
	}
	s.all[h] = struct{}{}
}

func (s *eagerStarts) remove(h *eagerStart) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, h)
}

func (s *eagerStarts) any() *eagerStart {
	s.mu.Lock()
	defer s.mu.Unlock()
	for h := range s.all {
		delete(s.all, h)
		return h
	}
	return nil
}

// result waits for the end of the turn, and hands over its outcome, once: the guest, or the
// failure. Both are nil if the turn was in vain.
func (h *eagerStart) result() (g *instance.Admitted, turn guest.Turn, failed error) {
	if h == nil {
		return nil, guest.Turn{}, nil
	}
	<-h.over
	h.mu.Lock()
	defer h.mu.Unlock()
	g, failed = h.guest, h.failed
	h.guest, h.failed, h.unwanted = nil, nil, true
	h.heads.remove(h)
	return g, h.turn, failed
}

// discard says that the result is not wanted, and ends the turn. It does not wait. It reports whether that
// gave an instance back.
func (h *eagerStart) discard() bool {
	if h == nil {
		return false
	}
	h.mu.Lock()
	g := h.guest
	h.guest, h.failed, h.unwanted = nil, nil, true
	h.mu.Unlock()
	h.heads.remove(h)
	h.cancel()
	if g != nil {
		g.Close()
	}
	return g != nil
}
