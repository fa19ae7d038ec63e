package execution

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/budget"
	"github.com/cruster/cruster/host/faultpoint"
	"github.com/cruster/cruster/host/follow"
	"github.com/cruster/cruster/host/guest"
	"github.com/cruster/cruster/host/guestlog"
	"github.com/cruster/cruster/host/message"
	"github.com/cruster/cruster/host/replay"
	"github.com/cruster/cruster/host/wasm"
	"github.com/cruster/cruster/journal"
)

// advance takes turns for as long as there is something to deliver.
func (r *run) advance() {
	for r.row != nil && r.pendingWrite == nil && r.row.State == journal.Running && !r.execs.Host.Over() {
		if !r.begun {
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
// run goes on. Each try is admitted by itself: it makes a guest, and no run may wait for that with large values in hand.
func (r *run) fillAndTake(b batch) bool {
	for r.fillAndTakeOnce(&b) {
		if r.crashes == 0 { // a turn that was taken has set it back
			return true
		}
		b.empty()
	}
	return false
}

// fillAndTakeOnce is one try to take the turn of a batch. It reports whether the run goes on; it does after a crash as well.
func (r *run) fillAndTakeOnce(b *batch) bool {
	paid, ok, crash := r.admitDelivery(b)
	defer paid.Release()
	if !ok {
		return false
	}
	if err := r.fill(r.execs.Host.Context(), b); err != nil {
		r.reload(batch{}) // its outcomes are in the ledger still
		r.loadFailed(nil, err)
		return false
	}
	if seq, limit := b.entries[0].Seq, r.execs.EntryLimit(r.row); seq > limit {
		r.pause(*b, abi.Errorf(abi.CodeExecutionTooLong, "the journal has %d entries, the limit is %d", seq, limit))
		return false
	}
	if crash != nil {
		return r.crashed(*b, crash)
	}
	return r.takeTurn(*b, paid)
}

func (r *run) nextBatch() (batch, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.completeDueLocked()
	return r.ledger.next(r.execs.now())
}

func (r *run) completeDueLocked() {
	r.ledger.giveResults(r.row)
	r.ledger.ops.CompleteDue(r.execs.now(), r.deferreds.settled, r.row.Interrupt, r.ledger.inbox, func(late time.Duration) { r.execs.metrics.lateness.Observe(late.Seconds()) })
}

// fill reads the stored contents of a batch.
func (r *run) fill(ctx context.Context, b *batch) error {
	if err := r.fillMessages(ctx, b); err != nil {
		return err
	}
	return r.deferreds.fill(ctx, r.execs.Store, b)
}

// waitForCompletions sees to it that something will complete: the host works for
// every op that needs it.
func (r *run) waitForCompletions() {
	r.mu.Lock()
	deadlocked := r.ledger.deadlocked()
	r.mu.Unlock()
	if r.stuck != nil {
		r.pause(batch{}, r.stuck)
		return
	}
	if deadlocked {
		r.pause(batch{}, abi.Errorf(abi.CodeGuestDeadlock, "the workflow parked without waiting for anything: nothing could ever wake it"))
		return
	}
	if r.commitAttempts() {
		r.startTasks()
	}
}

// firstTurn begins an execution that has no journal yet. It reports whether the run
// goes on.
func (r *run) firstTurn() bool {
	ctx, end := r.beginTurn()
	defer end()
	turn, begun, err := r.takeEagerStart()
	if !begun {
		turn, err = r.begin(ctx)
	}
	if err != nil {
		if r.turnCanceled(ctx, batch{}) {
			return false
		}
		r.logCrashed(turn, err)
		return r.crashed(batch{}, err)
	}
	r.begun = true
	r.letGoOfInput()
	return r.commitTurn(batch{}, turn)
}

// takeEagerStart makes the turn that was begun before the start was durable the run's own, also if
// the guest failed in it. It reports false if there is none.
func (r *run) takeEagerStart() (turn guest.Turn, begun bool, err error) {
	g, turn, err := r.eagerStart.result()
	if g == nil && err == nil {
		return guest.Turn{}, false, nil
	}
	if g != nil {
		r.keepGuest(g)
	}
	r.fuel = turn.FuelSoFar
	return turn, true, err
}

// takeTurn delivers a batch, whose large values were paid for. It reports whether the run goes on: see fillAndTake.
func (r *run) takeTurn(b batch, paid *budget.Permit) bool {
	ctx, end := r.beginTurn()
	defer end()
	if err := r.ensureGuest(ctx); err != nil {
		return !r.turnCanceled(ctx, b) && r.crashed(b, err)
	}
	turn, err := r.deliver(wasm.WithTaken(ctx, func() { handOver(paid, &b) }), b.entries)
	if err != nil {
		if r.turnCanceled(ctx, b) {
			return false
		}
		r.logCrashed(turn, err)
		return r.crashed(b, err)
	}
	return r.commitTurn(b, turn)
}

// begin makes a fresh guest and gives it its first turn.
func (r *run) begin(ctx context.Context) (guest.Turn, error) {
	turn, err := r.execs.startGuest(ctx, r.row, r.execs.OpenGuest, r.admit, r.keepGuest)
	r.fuel = turn.FuelSoFar
	return turn, err
}

// deliver runs the guest on the entries of a turn.
func (r *run) deliver(ctx context.Context, entries []journal.Entry) (guest.Turn, error) {
	turn, err := r.execs.compute(ctx, r.row.Namespace, r.resuming(entries))
	r.fuel = turn.FuelSoFar
	return turn, err
}

// resuming is the call into the guest that hands it the entries of a turn.
func (r *run) resuming(entries []journal.Entry) func(context.Context) (guest.Turn, error) {
	return func(ctx context.Context) (guest.Turn, error) {
		return r.guest.Resume(ctx, resumeOf(entries))
	}
}

// resumeOf returns the message that hands the entries of a turn to a guest.
func resumeOf(entries []journal.Entry) abi.Resume {
	r := abi.Resume{Deliveries: make([]abi.Delivery, len(entries)), Time: entries[0].At}
	for i, en := range entries {
		r.Deliveries[i] = abi.Delivery{Op: en.Op.Number, Value: en.Value, Error: en.Error}
		r.Entries = max(r.Entries, en.Seq)
	}
	return r
}

// compute lets the guest of an execution in this namespace run, within the limits of time and
// of guests at once.
func (x *Executions) compute(ctx context.Context, namespace string, call func(context.Context) (guest.Turn, error)) (turn guest.Turn, err error) {
	err = x.Slots.Compute(ctx, func(ctx context.Context) (err error) {
		turn, err = x.metered(ctx, namespace, call)
		return err
	})
	return turn, err
}

// metered lets a guest run, and counts its turns and fuel.
func (x *Executions) metered(ctx context.Context, namespace string, call func(context.Context) (guest.Turn, error)) (guest.Turn, error) {
	x.metrics.turns.Inc()
	turn, err := call(ctx)
	x.metrics.fuel.WithLabelValues(namespace).Add(float64(turn.Fuel))
	return turn, err
}

// commitTurn commits a turn with its effects, then releases them. It reports whether the run goes
// on.
func (r *run) commitTurn(b batch, turn guest.Turn) bool {
	did, err := r.perform(b, turn)
	if err != nil {
		return r.crashed(b, err)
	}
	return r.commitPerformed(b, turn, did)
}

// commitPerformed commits a turn whose local effects are computed.
func (r *run) commitPerformed(b batch, turn guest.Turn, did localEffects) bool {
	next, err := r.nextRun(&turn)
	if err != nil {
		return r.crashed(b, err)
	}
	stops, err := r.stopsOf(turn, did.unwanted)
	if err != nil {
		return r.crashed(b, err)
	}
	before := r.waitingNow()
	d := r.decideTurn(b, turn, did, stops)
	if d.forgot {
		// The move could not know: the code waited for a step that was inserted.
		r.pauseWaiting(b, replay.FinishedWithout(r.ledger.held), before)
		return false
	}
	if next != nil {
		return r.goOnAs(next, b, turn, d)
	}
	// A wake time that is too early does no harm, so it alone is no reason to write.
	changes := d.update.State.Final() || d.update.WakeAt < r.row.WakeAt || d.update.Section != r.row.Section
	if changes || len(d.write.Entries)+len(d.write.Send)+len(d.write.Take) > 0 || did.writes() || d.fate.Writes() {
		r.execs.Fault.Pass(faultpoint.TurnBeforeCommit)
		did.pass(r.execs.Fault, faultpoint.AnswerBeforeCommit)
		r.passRelease(faultpoint.ReleaseBeforeCommit, d.update.Section)
		return r.commit("commit a turn", d.write, b, func() bool {
			r.applyUpdate(d.update)
			r.execs.Fault.Pass(faultpoint.TurnAfterCommit)
			did.pass(r.execs.Fault, faultpoint.AnswerAfterCommit)
			return r.turnDone(b, turn, d)
		})
	}
	return r.turnDone(b, turn, d)
}

// decision is the outcome of a turn.
type decision struct {
	update journal.Update   // of the row
	write  journal.Write    // makes the turn durable
	gaveUp []journal.StepID // ops that the guest no longer waits for
	did    localEffects     // effects of the turn that the run performs itself
	fate   message.Fate     // of delivered messages
	forgot bool             // it finished without steps that have run: it cannot be committed
}

// decideTurn enters a turn into the ledger and decides its write.
func (r *run) decideTurn(b batch, turn guest.Turn, did localEffects, stops []journal.Sent) (d decision) {
	r.crashes = 0
	d.did = did
	d.write = journal.Write{ID: r.id, Run: r.row.Run, Chain: r.row.Chain, Send: stops}
	r.locked(func(l *ledger) {
		d.gaveUp = l.applyTurn(b.entries, turn)
		l.settleOwn(did.outcomes, r.execs.now())
		// Completions that are ready at once must show in the wake time: the guest may have asked
		// for a deferred that was settled long ago, and after a crash nothing else would say so.
		r.completeDueLocked()
		d.update = r.updateAfterLocked(turn)
		d.update.Waiting = l.waitingAfter(b.entries)
		d.fate = l.fateAfter(b, turn, did)
		d.forgot = turn.Outcome != nil && turn.Outcome.Error == nil && replay.HaveRun(l.held)
		if !d.forgot {
			d.write.Entries, d.write.Take = l.takeAttempts(r.execs.now()), l.takeUnwanted()
		}
	})
	b.write(&d.write)
	d.fate.Write(&d.write, r.execs.now())
	did.write(&d.write, r.execs.now())
	if turn.Continues() {
		return d
	}
	if len(b.entries) > 0 && !b.durable && !d.update.State.Final() && d.update.WakeAt == r.row.WakeAt && d.update.Section == r.row.Section && len(r.stops) == 0 {
		// Only the waiting state of the row would change, and an entry can say that as well: most
		// steps leave the row alone.
		waiting := d.update.Waiting
		d.write.Entries[len(d.write.Entries)-1].Waiting = &waiting
		return d
	}
	update := d.update
	d.write.Update = &update
	r.takeStops(&d.write)
	return d
}

// fateAfter returns the fate of messages after a turn, once the ledger has been told of it.
func (l *ledger) fateAfter(b batch, turn guest.Turn, did localEffects) message.Fate {
	t := message.Turn{Delivered: b.delivered(), Over: turn.Outcome != nil, Answers: did.answers}
	if turn.Continues() {
		t.Unread = turn.Outcome.Continue.Unread
	}
	return l.inbox.After(t, l.ops.Receives)
}

// turnDone goes on after a turn that is durable. It reports whether the run does.
func (r *run) turnDone(b batch, turn guest.Turn, d decision) bool {
	r.locked(func(l *ledger) {
		if n := len(b.entries); n > 0 {
			l.delivered = b.entries[n-1].Seq
		}
		l.inbox.Apply(d.fate)
	})
	r.setbacks, r.requested, r.recovering = 0, false, false
	r.warnOfLength(b)
	r.tellCallers(d.did)
	return r.releaseEffects(turn, d.gaveUp)
}

// releaseEffects releases the effects of a committed turn. It reports whether the run goes on.
func (r *run) releaseEffects(turn guest.Turn, gaveUp []journal.StepID) bool {
	r.logTurn(turn)
	if r.row.State.Final() {
		r.finish()
		return false
	}
	for _, step := range gaveUp {
		r.endTask(step)
	}
	r.startTasks()
	r.execs.Fault.Pass(faultpoint.TurnAfterEffects)
	if r.execs.EvictAlways {
		r.execs.Fault.Pass(faultpoint.Evict)
		r.execs.save(r.hibernate(r.execs.Hibernation.WhenDropped), r.guest)
		r.dropGuest()
	} else if h := r.hibernate(r.execs.Hibernation.AtWork); h != nil {
		r.execs.save(h, r.guest)
	}
	return true
}

// logTurn releases the log lines of a committed turn.
func (r *run) logTurn(turn guest.Turn) { r.logTo(r.log, turn, false) }

// logCrashed releases the log lines of a turn in which the guest crashed: authors look for them.
// The turn is taken again, so the lines are marked, and come once for crashes in a row. A turn
// aborted by a host shutdown did not crash.
func (r *run) logCrashed(turn guest.Turn, err error) {
	if r.crashes > 0 || !guest.IsTrap(err) || r.execs.Host.Over() {
		return
	}
	if i := slices.IndexFunc(turn.Log, reportsCrash); i >= 0 {
		turn.Log = turn.Log[:i]
	}
	r.logTo(r.log.With("crashed", true), turn, true)
}

// reportsCrash tells whether a line begins the crash report of a language runtime. The error has
// the part of it that matters.
func reportsCrash(l guest.LogLine) bool {
	return l.Level == abi.LogWarn && slices.ContainsFunc([]string{"panic: ", "fatal error: ", "runtime: ", "thread '"}, func(begin string) bool {
		return strings.HasPrefix(l.Message, begin)
	})
}

func (r *run) logTo(log *slog.Logger, turn guest.Turn, crashed bool) {
	for _, l := range turn.Log {
		guestlog.Write(log, l.Level, []byte(l.Message))
		r.execs.Followers.Log(r.row, func() follow.Line {
			return follow.Line{At: r.execs.now(), Crashed: crashed, Level: l.Level, Message: abi.LogText([]byte(l.Message))}
		})
	}
}

// updateAfterLocked returns the update of the row after a turn.
func (r *run) updateAfterLocked(turn guest.Turn) journal.Update {
	if turn.Outcome == nil || turn.Continues() {
		return journal.Update{State: journal.Running, WakeAt: r.ledger.ops.WakeAt(), Section: r.ledger.rowSection(r.row.Section)}
	}
	return finalUpdate(*turn.Outcome, r.row.Interrupt != nil, r.ledger.tick(r.execs.now()))
}

// finalUpdate returns the update of the row for the outcome of the workflow.
func finalUpdate(outcome abi.Outcome, interrupted bool, now int64) journal.Update {
	u := journal.Update{State: journal.Completed, WakeAt: journal.Never, Value: outcome.Value, FinishedAt: now}
	if err := outcome.Error; err != nil {
		u.State, u.Error = journal.Failed, err
		if err.Code == abi.CodeInterrupted && interrupted {
			u.State = journal.Interrupted
		}
		if err.Code == "" {
			err.Code = abi.CodeWorkflowFailed
		}
	}
	return u
}

func (r *run) applyUpdate(u journal.Update) {
	r.row.State, r.row.WakeAt, r.row.Value, r.row.Error, r.row.FinishedAt = u.State, u.WakeAt, u.Value, u.Error, u.FinishedAt
	r.row.Waiting = u.Waiting
	r.setSection(u.Section)
}

// commitAttempts makes failed attempts durable when no turn does so along the way. It
// reports whether they are.
func (r *run) commitAttempts() bool {
	none := false
	r.locked(func(l *ledger) { none = len(l.attempts) == 0 })
	if none {
		return true
	}
	o := r.attemptsOwed()
	r.execs.Fault.Pass(faultpoint.RetryBeforeCommit)
	return r.commitOrRetry(o)
}

// attemptsOwed returns the write of the attempts that are not journaled yet.
func (r *run) attemptsOwed() *pendingWrite {
	w := journal.Write{ID: r.id, Run: r.row.Run, Chain: r.row.Chain, Update: &journal.Update{State: r.row.State, Waiting: r.row.Waiting, Section: r.row.Section}}
	r.locked(func(l *ledger) { w.Entries, w.Update.WakeAt = l.takeAttempts(r.execs.now()), l.ops.WakeAt() })
	return &pendingWrite{doing: "commit attempts", write: w, then: func() bool {
		r.row.WakeAt = w.Update.WakeAt
		r.execs.Fault.Pass(faultpoint.RetryAfterCommit)
		return true
	}}
}

// finish tells all watchers of the result, which is durable.
func (r *run) finish() {
	r.execs.Fault.Pass(faultpoint.FinalAfterCommit)
	r.dropGuest()
	r.stopTasks()
	r.execs.Timers.Set(r.id, journal.Never)
	r.execs.metrics.finished.WithLabelValues(string(r.row.State)).Inc()
	r.logEnd()
	r.execs.Watchers.Notify(r.row)
	r.execs.announceEnd(r.row, r.awaited())
	r.execs.tellAnswered(r.execs.Host.Context(), r.row)
}
