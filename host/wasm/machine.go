package wasm

import (
	"container/list"
	"time"

	"github.com/tetratelabs/wazero/api"
)

// machine is an instance as the engine knows it. It outlives the [Instance] that runs in it: between two of them it
// rests in the pool of its module.
type machine struct {
	mod     api.Module
	linear  *linearMemory
	globals []api.MutableGlobal // in the order of the template
	image   *image              // that it was made from; nil if it initialised itself
	limit   int64               // of memory
	fuel    api.MutableGlobal   // nil if the module has no code
	handles handles

	owner     *Instance // whose world it sees; nil in the pool
	dirty     bool      // the guest has changed state that a reset does not restore
	idleSince time.Time
	warm      bool          // when it was reset it kept the pages that were written to
	warmPlace *list.Element // in the runtime's list of warm machines; guarded by its mutex
}
