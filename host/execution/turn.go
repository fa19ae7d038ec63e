package execution

import (
	"time"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/budget"
	"github.com/cruster/cruster/host/execution/ledger"
	"github.com/cruster/cruster/host/faultpoint"
	"github.com/cruster/cruster/host/guest"
	"github.com/cruster/cruster/host/wasm"
	"github.com/cruster/cruster/journal"
)

// advance takes turns for as long as there is something to deliver.
func (r *run) advance() {
	for r.row != nil && r.pendingWrite == nil && r.row.State == journal.Running && !r.execs.Host.Over() {
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
	if err := r.mail.fill(r.execs.Host.Context(), r.execs.Store, r.row.Receiver(), b); err != nil {
		r.reload(ledger.Batch{}) // its outcomes are in the ledger still
		r.loadFailed(nil, err)
		return false
	}
	if seq, limit := b.Entries[0].Seq, r.execs.EntryLimit(r.row); seq > limit {
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
	r.ledger.with(func(l *ledger.Ledger) {
		late = l.CompleteDue(r.row, r.mail.deferreds.settled, r.execs.now())
		b, ok = l.Next(r.execs.now())
	})
	r.execs.metrics.observeLate(late)
	return b, ok
}

// waitForCompletions sees to it that something will complete: the host works for every op that needs it.
func (r *run) waitForCompletions() {
	deadlocked := look(r.ledger, (*ledger.Ledger).Deadlocked)
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

// firstTurn begins an execution that has no journal yet. It reports whether the run goes on.
func (r *run) firstTurn() bool {
	ctx, end := r.beginTurn()
	defer end()
	turn, begun, err := r.takeEagerStart()
	if !begun {
		turn, err = r.instance.begin(ctx, r.row)
	}
	if err != nil {
		if r.turnCanceled(ctx, ledger.Batch{}) {
			return false
		}
		r.logCrashed(turn, err)
		return r.crashed(ledger.Batch{}, err)
	}
	r.life.begin()
	r.letGoOfInput()
	return r.commitTurn(ledger.Batch{}, turn)
}

// takeEagerStart makes the turn that was begun before the start was durable the run's own, also if
// the guest failed in it. It reports false if there is none.
func (r *run) takeEagerStart() (turn guest.Turn, begun bool, err error) {
	g, turn, err := r.eagerStart.result()
	if g == nil && err == nil {
		return guest.Turn{}, false, nil
	}
	if g != nil {
		r.instance.keep(g)
	}
	r.instance.fuel = turn.FuelSoFar
	return turn, true, err
}

// takeTurn delivers a batch, whose large values were paid for. It reports whether the run goes on: see fillAndTake.
func (r *run) takeTurn(b ledger.Batch, paid *budget.Permit) bool {
	ctx, end := r.beginTurn()
	defer end()
	if err := r.ensureGuest(ctx); err != nil {
		return !r.turnCanceled(ctx, b) && r.crashed(b, err)
	}
	turn, err := r.instance.deliver(wasm.WithTaken(ctx, func() { handOver(paid, &b) }), r.row.Namespace, b.Entries)
	if err != nil {
		if r.turnCanceled(ctx, b) {
			return false
		}
		r.logCrashed(turn, err)
		return r.crashed(b, err)
	}
	return r.commitTurn(b, turn)
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

// commitTurn commits a turn with its effects, then releases them. It reports whether the run goes
// on.
func (r *run) commitTurn(b ledger.Batch, turn guest.Turn) bool {
	did, err := r.perform(b, turn)
	if err != nil {
		return r.crashed(b, err)
	}
	return r.commitPerformed(b, turn, did)
}

// commitPerformed commits a turn whose local effects are computed.
func (r *run) commitPerformed(b ledger.Batch, turn guest.Turn, did ledger.Effects) bool {
	next, err := r.nextRun(&turn)
	if err != nil {
		return r.crashed(b, err)
	}
	stops, err := r.stopsOf(turn, did.Unwanted)
	if err != nil {
		return r.crashed(b, err)
	}
	before := r.waitingNow()
	d := r.decide(b, turn, did, stops, next)
	switch {
	case d.Forgot != nil:
		r.pauseWaiting(b, d.Forgot, before)
		return false
	case next != nil:
		return r.goOnAs(next.Run, b, turn, did, d)
	case !d.Writes:
		return r.release(b, turn, did, d)
	}
	r.execs.Fault.Pass(faultpoint.TurnBeforeCommit)
	passAnswers(r.execs.Fault, did, faultpoint.AnswerBeforeCommit)
	passRelease(r.execs.Fault, r.row, faultpoint.ReleaseBeforeCommit, d.Update.Section)
	return r.commit("commit a turn", d.Write, b, func() bool {
		r.applyUpdate(d.Update)
		r.execs.Fault.Pass(faultpoint.TurnAfterCommit)
		passAnswers(r.execs.Fault, did, faultpoint.AnswerAfterCommit)
		return r.release(b, turn, did, d)
	})
}

// decide enters a turn into the ledger and decides its meaning.
func (r *run) decide(
	b ledger.Batch, turn guest.Turn, did ledger.Effects, stops []journal.Sent, next *journal.Continuation,
) (d ledger.Decision) {
	r.failures.crashes = 0
	r.ledger.with(func(l *ledger.Ledger) {
		d = l.Decide(ledger.Turn{
			Row: r.row, Batch: b, Guest: turn, Effects: did, Next: next,
			Stops: stops, Asked: r.mail.asked, Settled: r.mail.deferreds.settled, Now: r.execs.now(),
		})
	})
	r.execs.metrics.observeLate(d.Late)
	return d
}

// release releases the effects of a turn that is durable. It reports whether the run goes on.
func (r *run) release(b ledger.Batch, turn guest.Turn, did ledger.Effects, d ledger.Decision) bool {
	r.ledger.with(func(l *ledger.Ledger) { l.Committed(b, d.Fate) })
	r.failures.setbacks, r.requested = 0, false
	r.life.recovered()
	if r.length.isDue(r.row, b, r.execs.MaxEntries) {
		r.execs.metrics.long.Inc()
		r.log.Warn(
			"the journal comes near its limit; the execution will be paused there unless it continues as a new run",
			"entries", b.Entries[len(b.Entries)-1].Seq, "limit", r.execs.MaxEntries,
		)
	}
	r.tellCallers(did)
	r.turnLog().write(turn)
	if r.row.State.Final() {
		r.finish()
		return false
	}
	for _, step := range d.GaveUp {
		r.tasks.end(step)
	}
	r.startTasks()
	r.execs.Fault.Pass(faultpoint.TurnAfterEffects)
	if r.execs.EvictAlways {
		r.execs.Fault.Pass(faultpoint.Evict)
		r.execs.save(r.hibernate(r.execs.Hibernation.WhenDropped), r.instance.guest)
		r.instance.drop()
	} else if h := r.hibernate(r.execs.Hibernation.AtWork); h != nil {
		r.execs.save(h, r.instance.guest)
	}
	return true
}

// applyUpdate takes over a durable update of the row.
func (r *run) applyUpdate(u journal.Update) {
	r.row.State, r.row.WakeAt, r.row.FinishedAt = u.State, u.WakeAt, u.FinishedAt
	r.row.Value, r.row.Error = u.Value, u.Error
	r.row.Waiting = u.Waiting
	r.setSection(u.Section)
}

// commitAttempts makes failed attempts durable when no turn does so along the way. It reports whether they are.
func (r *run) commitAttempts() bool {
	if !look(r.ledger, (*ledger.Ledger).OwesAttempts) {
		return true
	}
	o := r.attemptsOwed()
	r.execs.Fault.Pass(faultpoint.RetryBeforeCommit)
	return r.commitOrRetry(o)
}

// attemptsOwed returns the write of the attempts that are not journaled yet.
func (r *run) attemptsOwed() *pendingWrite {
	w := journal.Write{
		ID:     r.id,
		Run:    r.row.Run,
		Chain:  r.row.Chain,
		Update: &journal.Update{State: r.row.State, Waiting: r.row.Waiting, Section: r.row.Section},
	}
	r.ledger.with(func(l *ledger.Ledger) {
		w.Entries, w.Update.WakeAt = l.TakeAttempts(r.execs.now()), l.Ops().WakeAt()
	})
	return &pendingWrite{doing: "commit attempts", write: w, then: func() bool {
		r.row.WakeAt = w.Update.WakeAt
		r.execs.Fault.Pass(faultpoint.RetryAfterCommit)
		return true
	}}
}

// finish tells all watchers of the result, which is durable.
func (r *run) finish() {
	r.execs.Fault.Pass(faultpoint.FinalAfterCommit)
	r.instance.drop()
	r.stopTasks()
	r.execs.Timers.Set(r.id, journal.Never)
	r.execs.metrics.finished.WithLabelValues(string(r.row.State)).Inc()
	logEnd(r.log, r.row)
	r.execs.Watchers.Notify(r.row)
	r.execs.announceEnd(r.row, look(r.ledger, (*ledger.Ledger).Awaited))
	r.execs.Updates.TellAnswered(r.execs.Host.Context(), r.row)
}
