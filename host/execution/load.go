package execution

import (
	"context"
	"errors"

	"github.com/cruster/cruster/host/execution/instance"
	"github.com/cruster/cruster/host/execution/ledger"
	"github.com/cruster/cruster/host/execution/rebuild"
	"github.com/cruster/cruster/host/execution/sharedledger"
	"github.com/cruster/cruster/host/guest"
	"github.com/cruster/cruster/host/replay"
	"github.com/cruster/cruster/journal"
)

// ensureLoaded loads the execution; a new one brings its row along. It returns the notices that are left to receive,
// and false if they must wait.
func (r *run) ensureLoaded(notices []notice) ([]notice, bool) {
	notices = r.resolveReserved(r.hand.takeWaiting(notices))
	if sharedledger.Look(r.ledger, (*ledger.Ledger).Undecided) > 0 {
		// A transaction is about to add to the journal or not. Reading the journal now could miss an entry that stands
		// before others.
		r.hand.waiting = notices
		return nil, false
	}
	if len(notices) > 0 {
		// If the run has been loaded before, the row is no news: the store knows more. So it does of a run before whose
		// end no one was told of.
		if s, ok := notices[0].(started); ok && s.row.Chain != r.chain && !r.mail.unheard {
			row := *s.row
			row.Arrivals = uint64(len(s.received))
			r.adopt(&row)
			r.take(s.received)
			r.eagerStart = s.head
			return notices[1:], true
		}
	}
	ctx, end := r.progress.cancelable(r.deps.Host.Context(), journal.RunID{}, nil)
	defer end()
	err := r.load(ctx)
	if err != nil && r.wasCanceled(ctx) {
		r.unload()
		r.hand.requeue(notices...)
		return nil, false
	}
	if errors.Is(err, instance.ErrContinued) {
		r.hand.requeue(notices...) // for the run that is there now
		return nil, false
	}
	if err != nil {
		r.loadFailed(notices, err)
		return nil, false
	}
	return notices, true
}

func (r *run) adopt(row *journal.Execution) {
	if r.run != row.Run {
		r.beginAnew(row.Run)
	}
	r.life.adopt()
	r.chain = row.Chain
	r.progress.found(r.chain)
	r.row = row
	r.log = r.deps.Logger.With("execution", row.Name())
	r.ledger.With(func(l *ledger.Ledger) { l.Tick(max(row.CreatedAt, row.Pinned.Time)) })
}

// load brings an execution from the store into memory: its row, which deferreds are settled and, if it is running, its
// guest, replayed to where the journal ends.
func (r *run) load(ctx context.Context) error {
	found, err := r.deps.readRecords(ctx, r.id)
	if err != nil {
		return err
	}
	row := found.row
	if err := r.tellReplaced(row); err != nil {
		return err
	}
	r.adopt(row)
	r.input.release()
	r.mail.load(&found)
	stops := sharedledger.Look(r.ledger, func(l *ledger.Ledger) []journal.Envelope { return l.Open(found.inbox) })
	r.deps.updates.TellAnswered(r.deps.Host.Context(), row)
	unheard := r.mail.unheard
	r.mail.unheard = false
	r.deps.stopped.tellStopped(r.mail.undecided) // if that fails, the quarantine tells them
	r.mail.forgetUndecided()
	if !row.State.Final() {
		if goesOn, err := r.heedAll(stops); err != nil || !goesOn {
			if err != nil && !errors.Is(err, journal.ErrCorrupt) {
				r.unload() // it was not replayed
			}
			return err
		}
	}
	if row.State != journal.Running {
		// The commit that ended it may have been one whose answer was lost: then its watchers have not been told.
		r.stopTasks()
		r.deps.Timers.Set(r.id, journal.Never)
		r.deps.Watchers.Notify(row)
		if row.State.Final() && unheard {
			r.deps.announceEnd(row, sharedledger.Look(r.ledger, (*ledger.Ledger).Awaited))
		}
		return nil
	}
	if empty := r.life.loaded(); empty {
		return nil // it begins with its first turn
	}
	if err := r.payToLoad(); err != nil {
		r.unload()
		return err
	}
	return r.replayAll(ctx)
}

// tellReplaced tells how the run in memory has ended, if the answer to that commit was lost and another run has taken
// its place since: the row of the other one says nothing of it.
func (r *run) tellReplaced(row *journal.Execution) error {
	if !r.mail.unheard || r.chain.IsZero() || r.chain == row.Chain {
		return nil
	}
	ended, err := r.deps.Store.BriefRun(r.deps.Host.Context(), r.id, r.chain)
	if errors.Is(err, journal.ErrNotFound) {
		r.deps.tellDeleted(r.id, r.chain)
		return nil
	}
	if err == nil {
		r.deps.tell(ended)
	}
	return err
}

// readRecords reads the records of an execution. No message comes meanwhile.
func (d *runDeps) readRecords(ctx context.Context, id journal.ID) (found records, err error) {
	// Not for as long as the load: a terminate breaks that off again and again, and the run would never have the lock.
	reading, release, err := d.inboxes.ExcludeToRead(d.Host.Context(), id)
	if err != nil {
		return records{}, err
	}
	defer release()
	found.reading = reading
	if found.row, err = d.Store.Brief(ctx, id); errors.Is(err, journal.ErrNotFound) {
		err = errGone
	}
	if err == nil {
		found.settled, err = journal.ListSettlements(ctx, d.Store, found.row.Settlements())
	}
	if err == nil {
		found.inbox, err = d.Store.Inbox(ctx, found.row.Receiver(), 0)
	}
	return found, err
}

// replayAll replays the whole journal. A replay that fails for reasons of the guest pauses the execution; only a
// failure of the store is returned.
func (r *run) replayAll(ctx context.Context) error {
	var c caused
	setUp := func(player *replay.Player) rebuild.TookTurn {
		c = caused{}
		player.Recovers(r.row.Waiting)
		return func(turn guest.Turn) { c.note(player, turn) }
	}
	rebuilder := r.deps.states.Rebuilder(r.row, r.log, r.instance)
	reader, player, turn, err := rebuilder.Rebuild(ctx, rebuild.All, r.row.Waiting, setUp)
	r.ledger.With(func(l *ledger.Ledger) { l.ReadTo(reader.Position()) })
	if err != nil {
		if r.wasCanceled(ctx) {
			return err
		}
		return r.replayFailed(err)
	}
	r.life.replayed()
	r.ledger.With(func(l *ledger.Ledger) { l.Replayed(player) })
	if r.row.WakeAt != journal.Now {
		// The row tells which ops wait for the messages of their callees and entities: it is written
		// before the run leaves memory, and its wake time is not Now if the host has done its part of
		// all. That is so for ops issued by turns that have commits of their own.
		r.ledger.With(func(l *ledger.Ledger) { l.AwaitAllBut(c.issued) })
	}
	r.ledger.With(r.carried.Restore)
	r.tasks.EndForgotten()
	if err := r.recoverTurns(&c, turn); err != nil {
		return err
	}
	if r.row != nil && r.row.State == journal.Running && !r.life.begun() {
		r.unload() // the first turn is not taken over a journal: that is replayed again
		return errors.New("execution: its last turn could not be made durable")
	}
	return nil
}

// take takes in messages that came with the start.
func (r *run) take(messages []journal.Message) {
	for _, m := range messages {
		r.mail.received.Add(m)
		r.ledger.With(func(l *ledger.Ledger) { l.Arrived(m.Envelope) })
	}
}
