package execution

import (
	"context"
	"time"

	"github.com/cruster/cruster/host/execution/ledger"
	"github.com/cruster/cruster/host/execution/sharedledger"
	"github.com/cruster/cruster/host/faultpoint"
	"github.com/cruster/cruster/host/guest"
	"github.com/cruster/cruster/journal"
)

// aheadLimit bounds a turn that is taken while a transaction is open. The embedded store takes its writer back from a
// transaction that is open for long while others wait: a turn must not add much to that.
const aheadLimit = 100 * time.Millisecond

// deliverAhead has the run take the turn that the entry of a transaction causes before the
// transaction commits, so that SQL, entry and the outcome of the turn (the result, say) are one
// commit: see [activity.Task]. The naive order commits the transaction, delivers its entry, and
// commits the turn: one more disk flush for every workflow whose last step uses SQL.
//
// # Invariants
//
//  1. The guest sees an entry that is not durable, and nothing that it causes leaves the run before
//     the commit, as with any other turn. If the commit fails or is in doubt, the run discards the
//     instance and all changes of the turn, and is rebuilt from the journal once the transaction is
//     decided: the number of the entry stays reserved until then.
//  2. Nothing slips in between: the run is borrowed from its box, so that notices wait, and
//     no other number is reserved.
//  3. While the transaction is open, this goroutine waits for nothing but the guest. The
//     transaction holds the only writer of the embedded store: a run, a slot or memory may be
//     held by a goroutine that waits for the writer.
//
// # When the entry commits alone
//
// Hence the turn is taken here, on the goroutine of the activity, and only if
//
//   - the run is parked: a busy run may be in the middle of a commit;
//   - its instance is warm: making another waits for memory;
//   - a slot is free: guests may compute in all of them for long;
//   - it has nothing else to deliver or to write;
//   - its outcome would not share a commit with many others, which costs the store less: one
//     statement then writes the rows of all;
//   - its row was not written since the activity began: Postgres does not let a transaction
//     write a row that was changed since the transaction began.
//
// Otherwise the transaction commits the entry alone and the run delivers it later. The turn needs no store and has a
// limit of time of its own. A guest that exceeds it, or fails, is dropped; the entry commits alone, and the run tries
// this no more.
//
// Work after the commit is left to a goroutine of the run: this one holds the memory of the
// activity's instance.
func (r *run) deliverAhead(
	of journal.RunID, rowWrites uint64, entry journal.Entry, commit func(journal.Write) error,
) (delivered bool, err error) {
	if r.run != of || r.rowWrites != rowWrites || r.deps.Committer.Shares() || !r.mayRunAhead(entry) {
		return false, nil
	}
	return r.commitAhead(entry, commit)
}

// commitAhead takes the turn of an entry whose transaction is open and commits both. It reports false without an error
// if it has not called commit. The caller has the run to itself.
func (r *run) commitAhead(entry journal.Entry, commit func(journal.Write) error) (delivered bool, err error) {
	r.deps.resident.Use(r.id)
	whole := false
	defer func() {
		if !whole { // also after a panic, which the task reports
			_ = guarded(func() { r.reload(ledger.Batch{}) })
		}
	}()
	b := ledger.Batch{Entries: []journal.Entry{entry}}
	// A sender that holds the lock may wait for the transaction to end, and an earlier holder has
	// written the row.
	release, free := r.deps.inboxes.TryExclude(r.id)
	if !free {
		whole = true
		return false, nil
	}
	defer release()
	if len(r.deps.boxes.Queued(r.id)) > 0 {
		whole = true
		return false, nil
	}
	turn, taken := r.turnAhead(b.Entries)
	if !taken {
		whole = true
		return false, nil
	}
	did, perr := r.perform(b, turn)
	if perr != nil {
		// The run handles it once the entry is there.
		r.behind, whole = true, true
		r.instance.Drop()
		return false, nil
	}
	d := r.decide(b, turn, did, nil, nil)
	r.deps.Fault.Pass(faultpoint.TurnBeforeCommit)
	r.deps.Fault.Pass(faultpoint.AheadBeforeCommit)
	passAnswers(r.deps.Fault, did, faultpoint.AnswerBeforeCommit)
	if d.Write.Update != nil {
		if d.Write, err = r.whole(d.Write); err != nil {
			return false, nil //nolint:nilerr // the run is rebuilt, and takes the turn behind the transaction
		}
	}
	if err := commit(d.Write); err != nil {
		return false, err
	}
	r.deps.Fault.Pass(faultpoint.AheadAfterCommit)
	r.deps.Fault.Pass(faultpoint.TurnAfterCommit)
	passAnswers(r.deps.Fault, did, faultpoint.AnswerAfterCommit)
	r.ledger.With(func(l *ledger.Ledger) { l.Void(entry.Seq) }) // it is neither undecided nor to be delivered
	r.tasks.End(entry.Op.Step())
	r.applyUpdate(d.Update)
	r.published.Took(&d.Write)
	if d.Write.Update != nil {
		r.rowWrites++
	}
	r.release(b, turn, did, d)
	whole = true
	return true, nil
}

// mayRunAhead tells whether the run is warm and has nothing to do but to deliver the entry.
func (r *run) mayRunAhead(entry journal.Entry) bool {
	if r.deps.Host.Over() || r.behind || r.life.phase == quarantined || r.stuck != nil || r.pendingWrite != nil ||
		len(r.hand.waiting)+len(r.mail.asked) > 0 {
		return false
	}
	if r.row == nil || r.row.State != journal.Running || !r.life.begun() || !r.instance.Warm() ||
		entry.Seq > entryLimit(r.row, r.deps.MaxEntries) {
		return false
	}
	return sharedledger.Look(r.ledger, func(l *ledger.Ledger) bool { return l.IsNext(entry, entry.Op.Step()) })
}

// turnAhead gives the guest its turn, if there is a slot at once. If the guest does not survive it, it is dropped.
func (r *run) turnAhead(entries []journal.Entry) (turn guest.Turn, taken bool) {
	computed, err := r.deps.Slots.TryCompute(
		r.deps.Host.Context(),
		aheadLimit,
		func(ctx context.Context) (err error) {
			turn, err = r.instance.DeliverNow(ctx, r.row.Namespace, entries)
			return err
		},
	)
	if !computed {
		return turn, false
	}
	givesUp := func(l *ledger.Ledger) bool { return l.GivesUpAny(turn, r.row.MovedAt != 0) }
	if err == nil && (turn.Continues() || sharedledger.Look(r.ledger, givesUp)) {
		// The store has the code with which it goes on, and the callees of the calls that it gives
		// up.
		r.instance.Drop()
		return turn, false
	}
	if err != nil {
		r.log.Debug("a turn could not be taken ahead of its transaction", "error", err)
		r.behind = true
		r.instance.Drop()
	}
	return turn, err == nil
}
