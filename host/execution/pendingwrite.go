package execution

import (
	"github.com/cruster/cruster/host/execution/ledger"
	"github.com/cruster/cruster/journal"
)

// pendingWrite is a write that the run has decided on and the store has not taken yet. Nothing took effect, so the same
// write is tried until it does: the guest keeps its instance and outcomes keep their numbers. Until then the run
// decides nothing else.
type pendingWrite struct {
	doing string
	write journal.Write
	batch ledger.Batch // the deliveries of the write
	then  func() bool  // runs once it is durable; tells whether the run goes on
	again notice       // to be received again if only the journal tells; nil if none
	err   error        // of the last try
	tries int
}
