package wasm

import (
	"time"

	"github.com/tetratelabs/wazero/api"
)

// machine is an instance as the engine knows it. It outlives the [Instance] that
// runs in it: between two of them it rests in the pool of its module.
type machine struct {
	mod     api.Module
	linear  *linearMemory
	globals []api.MutableGlobal // in the order of the template
	image   *image              // that it was made from; nil if it initialised itself
	limit   int64               // of memory
	fuel    api.MutableGlobal   // nil if the module has no code
	handles handles

	owner     *Instance // whose world it sees; nil in the pool
	stained   bool      // the guest has changed what a reset does not bring back
	idleSince time.Time
	warm      bool // it rests with the pages that were written to: see pool
}

// reset brings the state of the image back; false says that it cannot. A guest has
// returned from its last call, so all its state is in memory and globals. Fuel is no state: it is
// set before every call. Keep is as in linearMemory.reset.
func (mc *machine) reset(keep bool) bool {
	if mc.image == nil || mc.stained || mc.linear.refused {
		return false
	}
	kept, ok := mc.linear.reset(mc.image, keep)
	if !ok || !mc.shrink() {
		return false
	}
	for n, g := range mc.globals {
		g.Set(mc.image.globals[n])
	}
	mc.handles.rest()
	mc.owner, mc.linear.grow, mc.warm = nil, nil, kept
	return true
}

// shrink makes the engine's memory as long as the image. There is no call for
// that: memory only grows. But the engine takes whatever length the allocator
// returns when it grows, also a smaller one.
func (mc *machine) shrink() bool {
	memory := mc.mod.Memory()
	if uint64(memory.Size()) == mc.image.size {
		return true
	}
	mc.linear.shrinking = true
	_, _ = memory.Grow(1)
	mc.linear.shrinking = false
	return uint64(memory.Size()) == mc.image.size
}
