package execution

import (
	"context"
	"time"

	"github.com/cruster/cruster/host/faultpoint"
	"github.com/cruster/cruster/host/guest"
	"github.com/cruster/cruster/journal"
)

// aheadLimit bounds a turn that is taken while a transaction is open. It is well below the
// grace after which the embedded store takes its writer back for the journal.
const aheadLimit = 100 * time.Millisecond

// deliverAhead has the run take the turn that the entry of a transaction causes before that
// commits, so that the SQL, the entry, and the result or whatever else the turn comes to are
// one commit: see [activity.Task]. The naive order commits the transaction, delivers its
// entry, and commits what came of that: one flush of the disk more for the last step of every
// workflow that ends with SQL.
//
// # Invariants
//
//  1. The guest sees an entry that is not durable, and nothing that it causes leaves the run
//     before the commit, as with any other turn. If the commit fails, or nobody knows, the
//     instance and all that the turn changed are thrown away and the run is rebuilt from the
//     journal, once the transaction is decided: its number stays reserved until then.
//  2. Nothing slips in between: the run is borrowed from its box, so that messages wait, and
//     its entry has the only number that is reserved.
//  3. Whoever has the transaction waits for nobody who may wait for it. The embedded store
//     has one writer, and it is held here.
//
// # Who waits for whom
//
// The turn is taken on the goroutine of the activity, and only if the run is parked and warm
// with nothing in hand. A run that is at work may be waiting for the writer, so its end is
// not awaited; a guest that must be rebuilt waits for memory, which others hold while they
// wait for the writer; and all slots may be taken by guests that compute for long. In each of
// these cases, and whenever anything else is under way, the transaction commits its entry
// alone and the run delivers it later, as it must be able to anyhow. So it does if the row
// was written since the activity began: a transaction of Postgres that began before could
// not write it again. The turn itself needs no
// store, and has a limit of time of its own: a guest that exceeds it, or fails, is dropped,
// the entry commits alone, and the run tries this no more.
//
// What follows after the commit is left to a goroutine of the run: this one holds the memory
// of the activity's instance.
func (t *task) deliverAhead(entry journal.Entry, commit func(journal.Write) error) (delivered bool, err error) {
	t.runs.Borrow(t.id, func(r *run) []message {
		if r.run == t.row.Run && r.rowWrites == t.rowWrites && r.mayRunAhead(entry) {
			delivered, err = r.commitAhead(entry, commit)
		}
		return append(r.takeAgain(), wake{}) // so that it looks around, and parks
	})
	return delivered, err
}

// commitAhead takes the turn of an entry whose transaction is open and commits both. It
// reports false without an error if it has not called commit. The caller has the run to
// itself.
func (r *run) commitAhead(entry journal.Entry, commit func(journal.Write) error) (delivered bool, err error) {
	r.resident.Use(r.id)
	whole := false
	defer func() {
		if !whole { // also after a panic, which the task reports
			_ = guarded(func() { r.reload(batch{}) })
		}
	}()
	b := batch{entries: []journal.Entry{entry}}
	turn, taken := r.turnAhead(b.entries)
	if !taken {
		whole = true
		return false, nil
	}
	d := r.decideTurn(b, turn)
	r.Fault.Pass(faultpoint.TurnBeforeCommit)
	r.Fault.Pass(faultpoint.AheadBeforeCommit)
	if err := commit(d.write); err != nil {
		return false, err
	}
	r.Fault.Pass(faultpoint.AheadAfterCommit)
	r.Fault.Pass(faultpoint.TurnAfterCommit)
	r.locked(func(l *ledger) { l.void(entry.Seq) }) // it is neither undecided nor to be delivered
	r.endTask(entry.Op.Step())
	r.applyUpdate(d.update)
	if d.write.Update != nil {
		r.rowWrites++
	}
	r.turnDone(b, turn, d.gaveUp)
	whole = true
	return true, nil
}

// mayRunAhead tells whether the run is warm and has nothing to do but to deliver the entry.
func (r *run) mayRunAhead(entry journal.Entry) bool {
	if r.Host.Over() || r.behind || r.fault != nil || r.stuck != nil || r.owed != nil || len(r.waiting) > 0 {
		return false
	}
	if r.row == nil || r.row.State != journal.Running || !r.begun || r.guest == nil || entry.Seq > maxEntries {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ledger.isNext(entry, entry.Op.Step())
}

// turnAhead gives the guest its turn, if there is a slot at once. If the guest does not
// survive it, it is dropped.
func (r *run) turnAhead(entries []journal.Entry) (turn guest.Turn, taken bool) {
	computed, err := r.Slots.TryCompute(r.Host.Context(), aheadLimit, func(ctx context.Context) (err error) {
		turn, err = r.metered(ctx, r.row.Namespace, r.resuming(entries))
		return err
	})
	if !computed {
		return turn, false
	}
	r.fuel = turn.FuelSoFar
	if err != nil {
		r.log.Debug("a turn could not be taken ahead of its transaction", "error", err)
		r.behind = true
		r.dropGuest()
	}
	return turn, err == nil
}
