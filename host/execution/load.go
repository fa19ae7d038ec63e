package execution

import (
	"context"
	"errors"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/execution/ledger"
	"github.com/cruster/cruster/host/guest"
	"github.com/cruster/cruster/host/hostfault"
	"github.com/cruster/cruster/host/replay"
	"github.com/cruster/cruster/journal"
)

// errGone says that an execution has no row.
var errGone = errors.New("execution: no such execution")

// ensureLoaded loads the execution; a new one brings its row along. It returns the notices that are left to receive,
// and false if they must wait.
func (r *run) ensureLoaded(notices []notice) ([]notice, bool) {
	notices = r.tasks.resolveReserved(r.run, r.hand.takeWaiting(notices))
	if look(r.ledger, (*ledger.Ledger).Undecided) > 0 {
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
	ctx, end := r.cancelable()
	defer end()
	err := r.load(ctx)
	if err != nil && r.wasCanceled(ctx) {
		r.unload()
		r.hand.requeue(notices...)
		return nil, false
	}
	if errors.Is(err, errContinued) {
		r.hand.requeue(notices...) // for the run that is there now
		return nil, false
	}
	if err != nil {
		r.loadFailed(notices, err)
		return nil, false
	}
	return notices, true
}

// loadFailed has notices received again a little later, after a load that failed. Callers waiting for a reply get the
// store's error.
func (r *run) loadFailed(notices []notice, err error) {
	if errors.Is(err, errGone) {
		refuseAll(notices, noExecution())
		return
	}
	if errors.Is(err, journal.ErrCorrupt) {
		f := &hostFault{Fault: hostfault.Fault{What: err.Error()}}
		errors.As(err, &f.damaged)
		r.quarantine(notices, f)
		return
	}
	r.backOff("load", err)
	if !abi.IsTransient(err) {
		// The guest crashed while it was replayed. That ends soon, well or in a pause, and then there is an answer.
		r.hand.requeue(notices...)
		return
	}
	for _, m := range notices {
		if isMail(m) || !refuse(m, journal.Coded("load the execution", err)) {
			r.hand.requeue(m)
		}
	}
}

func noExecution() *abi.Error {
	return abi.Errorf(abi.CodeExecutionNotFound, "there is no such execution")
}

func (r *run) adopt(row *journal.Execution) {
	if r.run != row.Run {
		r.beginAnew(row.Run)
	}
	r.life.adopt()
	r.chain = row.Chain
	r.row = row
	r.log = r.execs.Logger.With("execution", row.Name())
	r.ledger.with(func(l *ledger.Ledger) { l.Tick(max(row.CreatedAt, row.Pinned.Time)) })
}

// beginAnew drops all state of another run of the same name. Its tasks are ended, and their late
// notices are ignored: see ofRun.
func (r *run) beginAnew(run journal.RunID) {
	r.stopTasks()
	r.run = run
	r.life.beginAnew()
	r.instance.beginAnew()
	r.mail.beginAnew(journal.SettlementsOf(r.id, run))
	r.stuck, r.failures.crashes, r.published = nil, 0, nil
	r.requested, r.behind = false, false
	r.ledger.replace()
}

// load brings an execution from the store into memory: its row, which deferreds are settled and, if it is running, its
// guest, replayed to where the journal ends.
func (r *run) load(ctx context.Context) error {
	found, err := r.execs.readRecords(ctx, r.id)
	if err != nil {
		return err
	}
	row := found.row
	if err := r.tellReplaced(row); err != nil {
		return err
	}
	r.adopt(row)
	r.releaseInput()
	r.mail.load(&found)
	stops := look(r.ledger, func(l *ledger.Ledger) []journal.Envelope { return l.Open(found.inbox) })
	r.execs.Updates.TellAnswered(r.execs.Host.Context(), row)
	unheard := r.mail.unheard
	r.mail.unheard = false
	r.execs.Stops.tell(r.mail.undecided) // if that fails, the quarantine tells them
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
		r.execs.Timers.Set(r.id, journal.Never)
		r.execs.Watchers.Notify(row)
		if row.State.Final() && unheard {
			r.execs.announceEnd(row, look(r.ledger, (*ledger.Ledger).Awaited))
		}
		return nil
	}
	if empty := r.life.loaded(); empty {
		return nil // it begins with its first turn
	}
	return r.replayAll(ctx)
}

// tellReplaced tells how the run in memory has ended, if the answer to that commit was lost and another run has taken
// its place since: the row of the other one says nothing of it.
func (r *run) tellReplaced(row *journal.Execution) error {
	if !r.mail.unheard || r.chain.IsZero() || r.chain == row.Chain {
		return nil
	}
	ended, err := r.execs.Store.BriefRun(r.execs.Host.Context(), r.id, r.chain)
	if errors.Is(err, journal.ErrNotFound) {
		return nil // it was deleted
	}
	if err == nil {
		r.execs.tell(ended)
	}
	return err
}

// records are the records of an execution except its journal.
type records struct {
	row     *journal.Execution
	settled []journal.Settlement
	inbox   []journal.Envelope
	reading uint64 // of the inbox
}

// readRecords reads the records of an execution. No message comes meanwhile.
func (x *Executions) readRecords(ctx context.Context, id journal.ID) (found records, err error) {
	// Not for as long as the load: a terminate breaks that off again and again, and the run would never have the lock.
	reading, release, err := x.inboxLocks.ExcludeToRead(x.Host.Context(), id)
	if err != nil {
		return records{}, err
	}
	defer release()
	found.reading = reading
	if found.row, err = x.Store.Brief(ctx, id); errors.Is(err, journal.ErrNotFound) {
		err = errGone
	}
	if err == nil {
		found.settled, err = journal.ListSettlements(ctx, x.Store, found.row.Settlements())
	}
	if err == nil {
		found.inbox, err = x.Store.Inbox(ctx, found.row.Receiver(), 0)
	}
	return found, err
}

// replayAll replays the whole journal. A replay that fails for reasons of the guest pauses the execution; only a
// failure of the store is returned.
func (r *run) replayAll(ctx context.Context) error {
	var c caused
	reader, player, turn, err := r.rebuilder().rebuild(ctx, all, r.row.Waiting, func(player *replay.Player) tookTurn {
		c = caused{}
		player.Recovers(r.row.Waiting)
		return func(turn guest.Turn) { c.note(player, turn) }
	})
	r.ledger.with(func(l *ledger.Ledger) { l.ReadTo(reader.Position()) })
	if err != nil {
		if r.wasCanceled(ctx) {
			return err
		}
		return r.replayFailed(err)
	}
	r.life.replayed()
	r.ledger.with(func(l *ledger.Ledger) { l.Replayed(player) })
	if r.row.WakeAt != journal.Now {
		// The row tells which ops wait for the messages of their callees and entities: it is written
		// before the run leaves memory, and its wake time is not Now if the host has done its part of
		// all. That is so for ops issued by turns that have commits of their own.
		r.ledger.with(func(l *ledger.Ledger) { l.AwaitAllBut(c.issued) })
	}
	r.ledger.with(r.carried.Restore)
	r.tasks.endForgotten()
	if err := r.recoverTurns(&c, turn); err != nil {
		return err
	}
	if r.row != nil && r.row.State == journal.Running && !r.life.begun() {
		r.unload() // the first turn is not taken over a journal: that is replayed again
		return errors.New("execution: its last turn could not be made durable")
	}
	return nil
}

func (r *run) replayFailed(err error) error {
	if errors.Is(err, journal.ErrCorrupt) {
		return err // the quarantine forgets the run, once it has reported it
	}
	if r.execs.Host.Over() || abi.IsTransient(err) {
		r.unload()
		return err
	}
	r.crashed(ledger.Batch{}, err)
	if r.pendingWrite != nil {
		return nil // its pause
	}
	if r.row == nil {
		return err
	}
	if r.row.State == journal.Running {
		// A crash that may pass: the next attempt loads afresh.
		r.unload()
		return err
	}
	return nil
}

// ensureGuest replays an execution whose instance was dropped, up to the last delivery it saw.
// Pending ops are known and stay as they are.
func (r *run) ensureGuest(ctx context.Context) error {
	if r.instance.guest != nil {
		return nil
	}
	delivered := look(r.ledger, (*ledger.Ledger).Position).Seq
	_, player, turn, err := r.rebuilder().rebuild(
		ctx,
		delivered,
		journal.Waiting{},
		func(player *replay.Player) tookTurn {
			player.EndIsKnown() // see StillWaiting
			return nil
		},
	)
	if err != nil {
		return err
	}
	pending := look(r.ledger, (*ledger.Ledger).Pending)
	if turn.Outcome != nil {
		return replay.FinishedInsteadOfWaiting(pending)
	}
	return replay.StillWaiting(pending, player.Pending())
}
