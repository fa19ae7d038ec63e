package execution

import (
	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/execution/ledger"
	"github.com/cruster/cruster/host/faultpoint"
	"github.com/cruster/cruster/journal"
)

// pause stops an execution that cannot go on, and keeps everything: undelivered outcomes are
// journaled with it.
func (r *run) pause(b ledger.Batch, reason *abi.Error) { r.pauseWaiting(b, reason, r.waitingNow()) }

// pauseWaiting is pause of a run that waited for something before the batch.
func (r *run) pauseWaiting(b ledger.Batch, reason *abi.Error, waiting journal.Waiting) {
	u := journal.Update{
		State: journal.Paused, WakeAt: journal.Never, Error: reason, Waiting: waiting, Section: r.row.Section,
	}
	w := rowUpdate(r.row, &u)
	r.ledger.With(func(l *ledger.Ledger) { w.Entries = l.TakeAttempts(r.deps.now()) })
	b.WriteTo(&w)
	r.deps.Fault.Pass(faultpoint.PauseBeforeCommit)
	r.commit("commit a pause", w, b, func() bool {
		r.deps.Fault.Pass(faultpoint.PauseAfterCommit)
		r.applyUpdate(u)
		r.failures.crashes, r.stuck = 0, nil
		r.log.Error("paused", "code", reason.Code, "reason", reason.Message)
		r.deps.metrics.finished.WithLabelValues(string(journal.Paused)).Inc()
		r.stopTasks()
		r.deps.Watchers.Notify(r.row)
		return false
	})
}
