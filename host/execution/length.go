package execution

import (
	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// roomToStop is how many entries more the journal of an execution may have that was asked to stop:
// for its cleanup, and for the undelivered outcomes when it was paused at the limit. That is a
// batch at most, and a batch of the smallest outcomes has some 16,000 (maxBatchBytes).
const roomToStop = 20_000

// EntryLimit bounds the journal of an execution. The replay of a recovery is bounded by saved
// states (hibernate.go), as long as there are any; and a state grows with the steps it knows of.
func (x *Executions) EntryLimit(row *journal.Execution) uint64 {
	if row.Interrupt != nil {
		return x.MaxEntries + roomToStop
	}
	return x.MaxEntries
}

// warnOfLength warns that a journal comes near its limit, once for as long as the run is in memory. One
// that was asked to stop need not be told.
func (r *run) warnOfLength(b batch) {
	if len(b.entries) == 0 || r.warned || r.row.State.Final() || r.row.Interrupt != nil {
		return
	}
	entries := b.entries[len(b.entries)-1].Seq
	if !abi.IsLong(entries, r.execs.MaxEntries) {
		return
	}
	r.warned = true
	r.execs.metrics.long.Inc()
	r.log.Warn("the journal comes near its limit; the execution will be paused there unless it continues as a new run",
		"entries", entries, "limit", r.execs.MaxEntries)
}
