package wasm

import (
	"container/list"
	"slices"
	"sync"
)

// maxWarm is how many machines of a runtime may rest warm: with the pages that they wrote to, as
// copies of the image's. They have up to a megabyte each, and some hundred kilobytes for a
// small guest in Go. A guest that is given one of them does not have to wait for the kernel to make
// each page anew. All others rest without.
const maxWarm = 64

// warmth is the machines that rest warm. The least recently used one loses its pages to the next:
// machines in use have to be warm, whatever their module, not the first ones.
//
// The mutex of a pool may be held when this one is taken, never the other way round.
type warmth struct {
	mu      sync.Mutex
	resting list.List // of restingMachine, least recently used first; guarded by mu
}

type restingMachine struct {
	module  *Module
	machine *machine
}

// add takes note that a machine rests warm. Its pool is locked.
func (w *warmth) add(m *Module, mc *machine) {
	w.mu.Lock()
	defer w.mu.Unlock()
	mc.resting = w.resting.PushBack(restingMachine{m, mc})
}

// remove takes note that it does not, if it did.
func (w *warmth) remove(mc *machine) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if mc.resting != nil {
		w.resting.Remove(mc.resting)
		mc.resting = nil
	}
}

// takeOldest takes out the machine that has rested for longest, if there are too many.
func (w *warmth) takeOldest() (restingMachine, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.resting.Len() <= maxWarm {
		return restingMachine{}, false
	}
	oldest := w.resting.Remove(w.resting.Front()).(restingMachine)
	oldest.machine.resting = nil
	return oldest, true
}

// coolOldest takes the pages from the least recently used machine, if too many rest warm. A machine
// that was taken from its pool meanwhile is left alone.
func (r *Runtime) coolOldest() {
	oldest, ok := r.warmth.takeOldest()
	if !ok {
		return
	}
	if mc := oldest.machine; !oldest.module.cool(mc) {
		oldest.module.closeMachine(mc)
	}
}

// cool takes the pages from a machine that rests in the pool. If it cannot, it takes the machine
// out, and reports false.
func (m *Module) cool(mc *machine) bool {
	p := &m.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	n := slices.Index(p.idle, mc)
	if n < 0 {
		return true
	}
	m.runtime.warmth.remove(mc) // it may have been taken and put back meanwhile
	if mc.linear.forget(mc.image) {
		return true
	}
	p.idle = slices.Delete(p.idle, n, n+1)
	m.runtime.stats.idle.Add(-1)
	return false
}
