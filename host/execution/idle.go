package execution

import (
	"time"

	"github.com/cruster/cruster/host/execution/ledger"
	"github.com/cruster/cruster/host/execution/sharedledger"
	"github.com/cruster/cruster/host/timer"
	"github.com/cruster/cruster/journal"
)

// Park implements actor.Actor: it sets the timer, and finds out whether the run may be forgotten.
func (r *run) Park() []notice {
	r.idle = false
	if r.life.phase == quarantined {
		return nil
	}
	if f := guarded(func() { r.idle = r.armTimer() }); f != nil {
		r.quarantine(nil, f)
	}
	return r.hand.takeAgain()
}

// Release implements actor.Actor.
func (r *run) Release() bool {
	if !r.idle || sharedledger.Look(r.ledger, (*ledger.Ledger).Undecided) > 0 || r.tasks.Len() > 0 {
		r.deps.resident.Rest(r.id)
		return false
	}
	r.instance.Leave()
	return true
}

// Forgotten implements actor.Actor.
func (r *run) Forgotten() {
	r.instance.Close()
	r.input.release()
	r.mailMemory.release()
	r.tasks.Forget()
}

// armTimer sets the timer of a run that is about to park. It reports whether the run may be forgotten: then the store
// knows when it must be woken.
func (r *run) armTimer() bool {
	if r.pendingWrite != nil {
		return false
	}
	if r.row == nil || r.row.State != journal.Running {
		return true
	}
	if !r.life.begun() && r.deps.Host.Over() {
		return true // its waiting state is not known here, and right in the store
	}
	if r.instance.Evicted() {
		r.wantToLeave() // the cause to stay in memory may have ended
	}
	var due, wake int64
	var unwanted bool
	r.ledger.With(func(l *ledger.Ledger) { due, wake, unwanted = l.Ops().DueAt(), l.Ops().WakeAt(), l.HasUnwanted() })
	r.deps.Timers.Set(r.id, due)
	leaves := r.leavesUnpaid() || r.restsFor(max(r.deps.IdleTimeout, timer.MaxLead))
	if wake == journal.Now || r.instance.Warm() && !leaves {
		return false
	}
	if (r.row.WakeAt != wake || unwanted) && !r.commitWake(wake) {
		return false
	}
	r.deps.states.Save(r.hibernate(r.deps.Hibernation.WhenDropped), r.instance.Guest())
	r.deps.Timers.Leave(r.id, due)
	return true
}

// restsFor tells whether nothing is expected to happen to the run for so long: it waits for a time that is farther
// away, and for nothing that others bring about. To keep its instance would gain nothing, as it would be dropped before
// it is used.
func (r *run) restsFor(d time.Duration) bool {
	until := sharedledger.Look(r.ledger, func(l *ledger.Ledger) int64 { return l.Ops().RestsUntil() })
	return r.life.begun() && !r.requested && r.tasks.Len() == 0 && until > r.deps.Clock.Now().Add(d).UnixNano()
}

// commitWake corrects the wake time in the store, so that the run can be forgotten. It reports whether it did.
func (r *run) commitWake(wake int64) bool {
	w := rowUpdate(r.row, &journal.Update{
		State: r.row.State, WakeAt: wake, Waiting: r.waitingNow(), Section: r.row.Section,
	})
	r.ledger.With(func(l *ledger.Ledger) { w.Take = l.TakeUnwanted() })
	return r.commit("commit a wake time", w, ledger.Batch{}, func() bool {
		r.row.WakeAt, r.row.Waiting = wake, w.Update.Waiting
		return true
	})
}

// wantToLeave has tasks that wait for entities leave that to the inbox, if nothing else keeps the run in memory. The
// run has no instance, and is parked.
func (r *run) wantToLeave() {
	if r.tasks.WaitForEntities() {
		r.instance.WantToLeave()
	}
}
