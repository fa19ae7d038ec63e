package execution

import (
	"time"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/execution/ledger"
	"github.com/cruster/cruster/host/execution/sharedledger"
	"github.com/cruster/cruster/journal"
)

// advance takes turns for as long as there is something to deliver.
func (r *run) advance() {
	for r.row != nil && r.pendingWrite == nil && r.row.State == journal.Running && !r.deps.Host.Over() {
		if !r.life.begun() {
			if !r.firstTurn() {
				return
			}
			continue
		}
		if !r.makeUpSection() {
			return
		}
		b, ok := r.nextBatch()
		if !ok {
			r.waitForCompletions()
			return
		}
		if !r.fillAndTake(b) {
			return
		}
	}
}

// fillAndTake takes the turn that a batch causes, and takes it again if the guest crashes in it. It reports whether the
// run goes on. Each try is admitted by itself: it makes a guest, and no run may wait for that with large values in
// hand.
func (r *run) fillAndTake(b ledger.Batch) bool {
	for r.fillAndTakeOnce(&b) {
		if r.failures.crashes == 0 { // a turn that was taken has set it back
			return true
		}
		b.Empty()
	}
	return false
}

// fillAndTakeOnce is one try to take the turn of a batch. It reports whether the run goes on; it does after a crash as
// well.
func (r *run) fillAndTakeOnce(b *ledger.Batch) bool {
	paid, ok, crash := r.admitDelivery(b)
	defer paid.Release()
	if !ok {
		return false
	}
	if err := r.mail.fill(r.deps.Host.Context(), r.deps.Store, r.row.Receiver(), b); err != nil {
		r.reload(ledger.Batch{}) // its outcomes are in the ledger still
		r.loadFailed(nil, err)
		return false
	}
	if seq, limit := b.Entries[0].Seq, entryLimit(r.row, r.deps.MaxEntries); seq > limit {
		r.pause(*b, abi.Errorf(abi.CodeExecutionTooLong, "the journal has %d entries, the limit is %d", seq, limit))
		return false
	}
	if crash != nil {
		return r.crashed(*b, crash)
	}
	return r.takeTurn(*b, paid)
}

// nextBatch returns the deliveries of the next turn, if there are any.
func (r *run) nextBatch() (b ledger.Batch, ok bool) {
	var late []time.Duration
	r.ledger.With(func(l *ledger.Ledger) {
		late = l.CompleteDue(r.row, r.mail.deferreds.settled, r.deps.now())
		b, ok = l.Next(r.deps.now())
	})
	r.deps.metrics.observeLate(late)
	return b, ok
}

// waitForCompletions sees to it that something will complete: the host works for every op that needs it.
func (r *run) waitForCompletions() {
	deadlocked := sharedledger.Look(r.ledger, (*ledger.Ledger).Deadlocked)
	if r.stuck != nil {
		r.pause(ledger.Batch{}, r.stuck)
		return
	}
	if deadlocked {
		r.pause(
			ledger.Batch{},
			abi.Errorf(
				abi.CodeGuestDeadlock, "the workflow parked without waiting for anything: nothing could ever wake it",
			),
		)
		return
	}
	if r.commitAttempts() {
		r.startTasks()
	}
}
