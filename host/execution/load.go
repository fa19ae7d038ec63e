package execution

import (
	"context"
	"errors"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/faultpoint"
	"github.com/cruster/cruster/host/guest"
	"github.com/cruster/cruster/host/hostfault"
	"github.com/cruster/cruster/host/replay"
	"github.com/cruster/cruster/journal"
)

// errGone says that an execution has no row.
var errGone = errors.New("execution: no such execution")

// ensureLoaded loads the execution; a new one brings its row along. It returns the
// notices that are left to receive, and false if they must wait.
func (r *run) ensureLoaded(notices []notice) ([]notice, bool) {
	notices = r.resolveReserved(append(r.waiting, notices...))
	r.waiting = nil
	r.mu.Lock()
	undecided := len(r.ledger.reserved)
	r.mu.Unlock()
	if undecided > 0 {
		// A transaction is about to add to the journal or not. Reading the journal
		// now could miss an entry that stands before others.
		r.waiting = notices
		return nil, false
	}
	if len(notices) > 0 {
		// If the run has been loaded before, the row is no news: the store knows more.
		if s, ok := notices[0].(started); ok && s.row.Chain != r.chain {
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
		r.requeue(notices...)
		return nil, false
	}
	if errors.Is(err, errContinued) {
		r.requeue(notices...) // for the run that is there now
		return nil, false
	}
	if err != nil {
		r.loadFailed(notices, err)
		return nil, false
	}
	return notices, true
}

// resolveReserved takes in the outcomes of transactions before the journal is loaded: committed
// transactions are in it.
func (r *run) resolveReserved(notices []notice) []notice {
	var rest []notice
	for _, m := range notices {
		of, is := m.(ofRun)
		if !is || of.run != r.run {
			rest = append(rest, m)
			continue
		}
		switch told := of.notice.(type) {
		case txCommitted:
			r.locked(func(l *ledger) { l.void(told.entry.Seq) })
			r.endTask(told.entry.Op.Step())
		case txVoid:
			r.locked(func(l *ledger) { l.void(told.seq) })
		case taskFault:
			r.locked(func(l *ledger) { l.void(told.seq) })
			rest = append(rest, m)
		default:
			rest = append(rest, m)
		}
	}
	return rest
}

// loadFailed has notices received again a little later, after a load that failed.
// Callers waiting for a reply get the store's error.
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
		// The guest crashed while it was replayed. That ends soon, well or in a
		// pause, and then there is an answer.
		r.requeue(notices...)
		return
	}
	for _, m := range notices {
		if isMail(m) || !refuse(m, journal.Coded("load the execution", err)) {
			r.requeue(m)
		}
	}
}

func noExecution() *abi.Error {
	return abi.Errorf(abi.CodeExecutionNotFound, "there is no such execution")
}

// runIsGone refuses a request meant for one run alone.
func runIsGone() *abi.Error {
	return abi.Errorf(abi.CodeExecutionNotFound, "the run that this was for is over: it has continued as another one, or retention has deleted it")
}

// anotherRun refuses a request meant for a run that is gone.
func anotherRun() *abi.Error {
	return abi.Errorf(abi.CodeExecutionNotFound, "this run of the execution was deleted, or another one has taken its place")
}

func (r *run) adopt(row *journal.Execution) {
	if r.run != row.Run {
		r.beginAnew(row.Run)
	}
	r.chain = row.Chain
	r.row = row
	r.log = r.execs.Logger.With("execution", row.Name())
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ledger.tick(max(row.CreatedAt, row.Pinned.Time))
}

// beginAnew drops all state of another run of the same name. Its tasks are ended, and their late
// notices are ignored: see ofRun.
func (r *run) beginAnew(run journal.RunID) {
	r.stopTasks()
	r.run, r.fresh = run, false
	r.deferreds.set(journal.SettlementsOf(r.id, run), nil)
	r.received.LetGo()
	r.stuck, r.crashes, r.savedSeq, r.published, r.room = nil, 0, 0, nil, 0
	r.requested, r.behind = false, false
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ledger = newLedger()
}

// load brings an execution from the store into memory: its row, which deferreds
// are settled and, if it is running, its guest, replayed to where the journal ends.
func (r *run) load(ctx context.Context) error {
	row, settled, inbox, err := r.readWhole(ctx)
	if err != nil {
		return err
	}
	r.adopt(row)
	r.releaseInput()
	r.deferreds.set(row.Settlements(), settled)
	r.received.LetGo()
	clear(r.knownResults)
	r.mailDue = false
	var stops []journal.Envelope
	r.locked(func(l *ledger) { stops = l.open(inbox) })
	r.execs.tellAnswered(r.execs.Host.Context(), row)
	unheard := r.reloaded
	r.reloaded = false
	r.execs.tellStops(r.undecidedSends)
	r.undecidedSends, r.stops = nil, nil
	if !row.State.Final() {
		if goesOn, err := r.heedAll(stops); err != nil || !goesOn {
			if err != nil && !errors.Is(err, journal.ErrCorrupt) {
				r.unload() // it was not replayed
			}
			return err
		}
	}
	if row.State != journal.Running {
		// The commit that ended it may have been one whose answer was lost: then its
		// watchers have not been told.
		r.stopTasks()
		r.execs.Timers.Set(r.id, journal.Never)
		r.execs.Watchers.Notify(row)
		if row.State.Final() && unheard {
			r.execs.announceEnd(row, r.awaited())
		}
		return nil
	}
	if r.fresh {
		r.fresh = false
		return nil // it has no journal yet, and begins with its first turn
	}
	return r.replayAll(ctx)
}

// readWhole reads the records of an execution except its journal. No message comes meanwhile.
func (r *run) readWhole(ctx context.Context) (row *journal.Execution, settled []journal.Settlement, inbox []journal.Envelope, err error) {
	// Not for as long as the load: a terminate breaks that off again and again, and the run would never have the lock.
	reading, release, err := r.execs.inboxLocks.excludeToRead(r.execs.Host.Context(), r.id)
	if err != nil {
		return nil, nil, nil, err
	}
	defer release()
	if row, err = r.execs.Store.Brief(ctx, r.id); errors.Is(err, journal.ErrNotFound) {
		err = errGone
	}
	if err == nil {
		settled, err = journal.ListSettlements(ctx, r.execs.Store, row.Settlements())
	}
	if err == nil {
		inbox, err = r.execs.Store.Inbox(ctx, row.Receiver(), 0)
	}
	if err == nil {
		r.inboxRead = reading
	}
	return row, settled, inbox, err
}

// replayAll replays the whole journal. A replay that fails for reasons of the guest
// pauses the execution; only a failure of the store is returned.
func (r *run) replayAll(ctx context.Context) error {
	var c caused
	reader, player, turn, err := r.rebuild(ctx, all, r.row.Waiting, func(player *replay.Player) tookTurn {
		c = caused{}
		player.Recovers(r.row.Waiting)
		return func(turn guest.Turn) { c.note(player, turn) }
	})
	at := reader.Position()
	r.mu.Lock()
	r.ledger.seq, r.ledger.turn = max(r.ledger.seq, at.Seq), max(r.ledger.turn, at.Turn)
	r.ledger.delivered = at.Seq
	r.ledger.tick(at.At)
	r.mu.Unlock()
	if err != nil {
		if r.wasCanceled(ctx) {
			return err
		}
		return r.replayFailed(err)
	}
	r.begun, r.recovering = true, true
	r.mu.Lock()
	r.ledger.setPending(player.Pending())
	r.ledger.hold(player.Held(), player.Attempts())
	r.ledger.enterReplayed(player.Section())
	r.mu.Unlock()
	r.awaitAsBefore(c.issued)
	r.locked(r.carried.restore)
	r.endForgottenTasks()
	if err := r.recoverTurns(&c, turn); err != nil {
		return err
	}
	if r.row != nil && r.row.State == journal.Running && !r.begun && !r.fresh {
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
	r.crashed(batch{}, err)
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
	if r.guest != nil {
		return nil
	}
	r.mu.Lock()
	delivered := r.ledger.delivered
	r.mu.Unlock()
	_, player, turn, err := r.rebuild(ctx, delivered, journal.Waiting{}, func(player *replay.Player) tookTurn {
		player.EndIsKnown() // see StillWaiting
		return nil
	})
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if turn.Outcome != nil {
		return replay.FinishedInsteadOfWaiting(r.ledger.pending())
	}
	return replay.StillWaiting(r.ledger.pending(), player.Pending())
}

// replay runs a fresh guest through the journal, and keeps it.
func (r *run) replay(ctx context.Context, player *replay.Player, took tookTurn, deliver func([]journal.Entry) (guest.Turn, error)) (guest.Turn, error) {
	r.execs.metrics.replays.Inc()
	r.execs.Fault.Pass(faultpoint.Replay)
	turn, err := play(ctx, player, took,
		func() (guest.Turn, error) { return r.begin(ctx) }, deliver)
	if err == nil {
		r.releaseOps()
	}
	return turn, err
}
