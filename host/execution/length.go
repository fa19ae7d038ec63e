package execution

import (
	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/execution/ledger"
	"github.com/cruster/cruster/journal"
)

// roomToStop is how many entries more the journal of an execution may have that was asked to stop:
// for its cleanup, and for the undelivered outcomes when it was paused at the limit. That is a
// batch at most, and a batch of the smallest outcomes has some 16,000 ([ledger.MaxBatchBytes]).
const roomToStop = 20_000

// entryLimit bounds the journal of an execution; limit is the rule. The replay of a recovery is bounded by saved states
// (host/execution/rebuild), as long as there are any; and a state grows with the steps it knows of.
func entryLimit(row *journal.Execution, limit uint64) uint64 {
	if row.Interrupt != nil {
		return limit + roomToStop
	}
	return limit
}

// lengthWarning warns that a journal comes near its limit, once for as long as the run is in memory.
type lengthWarning struct{ given bool }

// isDue tells whether the journal of a row has come near its limit with a batch. An execution that
// was asked to stop need not be told.
func (w *lengthWarning) isDue(row *journal.Execution, b ledger.Batch, limit uint64) bool {
	n := len(b.Entries)
	if w.given || n == 0 || row.State.Final() || row.Interrupt != nil || !abi.IsLong(b.Entries[n-1].Seq, limit) {
		return false
	}
	w.given = true
	return true
}
