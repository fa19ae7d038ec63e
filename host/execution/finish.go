package execution

import (
	"github.com/cruster/cruster/host/execution/ledger"
	"github.com/cruster/cruster/host/execution/sharedledger"
	"github.com/cruster/cruster/host/faultpoint"
	"github.com/cruster/cruster/journal"
)

// tellCallers tells callers of answers that are durable.
func (r *run) tellCallers(did ledger.Effects) {
	for _, a := range did.Answers {
		r.deps.updates.Tell(a, r.id)
	}
}

// finish tells all watchers of the result, which is durable.
func (r *run) finish() {
	r.deps.Fault.Pass(faultpoint.FinalAfterCommit)
	r.instance.Drop()
	r.stopTasks()
	r.deps.Timers.Set(r.id, journal.Never)
	r.deps.metrics.finished.WithLabelValues(string(r.row.State)).Inc()
	logEnd(r.log, r.row)
	r.deps.Watchers.Notify(r.row)
	r.deps.announceEnd(r.row, sharedledger.Look(r.ledger, (*ledger.Ledger).Awaited))
	r.deps.updates.TellAnswered(r.deps.Host.Context(), r.row)
}
