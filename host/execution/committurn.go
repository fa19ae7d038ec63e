package execution

import (
	"github.com/cruster/cruster/host/execution/ledger"
	"github.com/cruster/cruster/host/faultpoint"
	"github.com/cruster/cruster/host/guest"
	"github.com/cruster/cruster/journal"
)

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
	r.deps.Fault.Pass(faultpoint.TurnBeforeCommit)
	passAnswers(r.deps.Fault, did, faultpoint.AnswerBeforeCommit)
	passRelease(r.deps.Fault, r.row, faultpoint.ReleaseBeforeCommit, d.Update.Section)
	return r.commit("commit a turn", d.Write, b, func() bool {
		r.applyUpdate(d.Update)
		r.deps.Fault.Pass(faultpoint.TurnAfterCommit)
		passAnswers(r.deps.Fault, did, faultpoint.AnswerAfterCommit)
		return r.release(b, turn, did, d)
	})
}

// decide enters a turn into the ledger and decides its meaning.
func (r *run) decide(
	b ledger.Batch, turn guest.Turn, did ledger.Effects, stops []journal.Sent, next *journal.Continuation,
) (d ledger.Decision) {
	r.failures.crashes = 0
	r.ledger.With(func(l *ledger.Ledger) {
		d = l.Decide(ledger.Turn{
			Row: r.row, Batch: b, Guest: turn, Effects: did, Next: next,
			Stops: stops, Asked: r.mail.asked, Settled: r.mail.deferreds.settled, Now: r.deps.now(),
		})
	})
	r.deps.metrics.observeLate(d.Late)
	return d
}

// release releases the effects of a turn that is durable. It reports whether the run goes on.
func (r *run) release(b ledger.Batch, turn guest.Turn, did ledger.Effects, d ledger.Decision) bool {
	r.ledger.With(func(l *ledger.Ledger) { l.Committed(b, d.Fate) })
	r.failures.setbacks, r.requested = 0, false
	r.life.recovered()
	if r.length.isDue(r.row, b, r.deps.MaxEntries) {
		r.deps.metrics.long.Inc()
		r.log.Warn(
			"the journal comes near its limit; the execution will be paused there unless it continues as a new run",
			"entries", b.Entries[len(b.Entries)-1].Seq, "limit", r.deps.MaxEntries,
		)
	}
	r.tellCallers(did)
	r.turnLog().write(turn)
	if r.row.State.Final() {
		r.finish()
		return false
	}
	for _, step := range d.GaveUp {
		r.tasks.End(step)
	}
	r.startTasks()
	r.deps.Fault.Pass(faultpoint.TurnAfterEffects)
	if r.deps.EvictAlways {
		r.deps.Fault.Pass(faultpoint.Evict)
		r.deps.states.Save(r.hibernate(r.deps.Hibernation.WhenDropped), r.instance.Guest())
		r.instance.Drop()
	} else if h := r.hibernate(r.deps.Hibernation.AtWork); h != nil {
		r.deps.states.Save(h, r.instance.Guest())
	}
	return true
}
