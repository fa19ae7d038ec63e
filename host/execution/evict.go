package execution

import (
	"sync/atomic"

	"github.com/cruster/cruster/host/admission"
	"github.com/cruster/cruster/host/execution/instance"
	"github.com/cruster/cruster/host/execution/rebuild"
	"github.com/cruster/cruster/host/faultpoint"
	"github.com/cruster/cruster/journal"
)

// evictor makes room in memory: it drops instances, and has executions leave that only wait.
type evictor struct {
	deps    *runDeps
	eager   eagerStarts
	leaving atomic.Int64 // counts evicted executions that are leaving memory
	runs    *registry
}

// makeRoom has the execution leave memory that has waited longest, or drop its instance if it does more than wait. It
// reports whether that was so: then another may leave.
func (e *evictor) makeRoom() (another bool) {
	before := e.leaving.Load()
	return e.deps.resident.EvictOldest() && e.leaving.Load() == before
}

// hasRoom tells whether another execution fits into memory. If there is little room, or none, those
// that only wait leave memory: there may be room when it is asked again.
func (e *evictor) hasRoom() bool {
	return admission.Room{Limit: e.deps.MaxInMemory, Count: e.runs.Len, Make: e.makeRoom}.Has()
}

// evict drops the instance of a run that is parked, and reports whether it did. A run at work keeps its instance.
func (e *evictor) evict(id journal.ID) bool {
	var evicted *instance.Admitted
	var state *rebuild.Saving
	e.runs.WhileParked(id, func(r *run) (notice, bool) {
		state = r.hibernate(e.deps.Hibernation.WhenDropped)
		if evicted = r.instance.Evict(); evicted != nil {
			r.wantToLeave()
			if r.tasks.Len() == 0 || r.instance.WantsToLeave() {
				e.leaving.Add(1)
			}
		}
		return wake{}, evicted != nil // without an instance it may leave memory altogether
	})
	if evicted == nil {
		return false
	}
	e.deps.states.Save(state, evicted)
	evicted.Close() // which takes a while, and no lock is held
	e.deps.Fault.Pass(faultpoint.Evict)
	return true
}

// reclaim evicts the least recently used idle instance or, if none is idle, an eager start. It
// reports whether it evicted anything.
func (e *evictor) reclaim() bool {
	if e.deps.resident.EvictOldest() {
		return true
	}
	for h := e.eager.any(); h != nil; h = e.eager.any() {
		if h.discard() {
			return true
		}
	}
	return false
}

// dropGuests closes all instances. No execution may be at work.
func (e *evictor) dropGuests() {
	e.runs.Each(func(r *run) {
		r.instance.Drop()
		r.instance.ReleaseOps()
	})
	for h := e.eager.any(); h != nil; h = e.eager.any() {
		h.discard() // no run has begun to work for it
	}
}
