package wasm

import (
	"container/list"
	"slices"
	"sync"
)

// maxWarm bounds the idle machines of a runtime that stay warm: that keep the pages that they wrote to, as copies of
// the image's. They have up to a megabyte each, and some hundred kilobytes for a small guest in Go. A guest that is
// given one of them does not have to wait for the kernel to make each page anew. All other idle machines give these
// pages up.
const maxWarm = 64

// warmMachines are the idle machines that stay warm. The least recently used one loses its pages to the next:
// machines in use have to be warm, whatever their module, not the first ones.
//
// The mutex of a pool may be held when this one is taken, never the other way round.
type warmMachines struct {
	mu   sync.Mutex
	idle list.List // of idleMachine, least recently used first; guarded by mu
}

type idleMachine struct {
	module  *Module
	machine *machine
}

// add takes note that an idle machine stays warm. Its pool is locked.
func (w *warmMachines) add(m *Module, mc *machine) {
	w.mu.Lock()
	defer w.mu.Unlock()
	mc.warmPlace = w.idle.PushBack(idleMachine{m, mc})
}

// remove takes note that it does not, if it did.
func (w *warmMachines) remove(mc *machine) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if mc.warmPlace != nil {
		w.idle.Remove(mc.warmPlace)
		mc.warmPlace = nil
	}
}

// takeOldest takes out the machine that has been idle for longest, if there are too many.
func (w *warmMachines) takeOldest() (idleMachine, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.idle.Len() <= maxWarm {
		return idleMachine{}, false
	}
	oldest := w.idle.Remove(w.idle.Front()).(idleMachine)
	oldest.machine.warmPlace = nil
	return oldest, true
}

// coolOldest takes the pages from the least recently used machine, if too many stay warm. A machine
// that was taken from its pool meanwhile is left alone.
func (r *Runtime) coolOldest() {
	oldest, ok := r.warm.takeOldest()
	if !ok {
		return
	}
	if mc := oldest.machine; !oldest.module.cool(mc) {
		oldest.module.closeMachine(mc)
	}
}

// cool takes the pages from an idle machine of the pool. If it cannot, it takes the machine
// out, and reports false.
func (m *Module) cool(mc *machine) bool {
	p := &m.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	n := slices.Index(p.idle, mc)
	if n < 0 {
		return true
	}
	m.runtime.warm.remove(mc) // it may have been taken and put back meanwhile
	if mc.linear.forget(mc.image) {
		return true
	}
	p.idle = slices.Delete(p.idle, n, n+1)
	m.runtime.stats.idle.Add(-1)
	return false
}
