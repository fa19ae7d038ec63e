package serve

import (
	"cmp"
	"runtime/debug"

	"github.com/cruster/cruster/host/budget"
)

// ownHeap is the allowance of the host's own heap besides the budget before the collector works
// harder: waiting executions, caches, connections, and garbage. Fifteen thousand executions that
// all want to go on at once have 60 MiB there.
const ownHeap = 112 << 20

// LimitHeap bounds the garbage of this process by the budget of its host (0 means the default
// budget). Admission by bytes stays within the budget, but the collector knows nothing of it: left
// alone, it begins when the heap has doubled, and on a busy machine it ends later still. It bounds
// garbage, not live memory: a host that needs more gets it, at the price of up to half of its
// processor time. Instances have 19 of 32 parts of the budget and are not on the heap: their memory
// is mapped. If the heap had as much beside them, both together could be more than the machine has.
func LimitHeap(memory int64) {
	debug.SetMemoryLimit(cmp.Or(memory, budget.OfMachine())*13/32 + ownHeap)
}
