package execution

import (
	"time"

	"github.com/cruster/cruster/host/actor"
)

var _ actor.Actor[notice] = (*run)(nil)

// Receive implements actor.Actor.
func (r *run) Receive(notices []notice) []notice {
	defer func() { r.tasks.Pace(r.carried.Bytes()) }()
	r.input.takeFrom(notices)
	if r.deps.Host.Over() {
		refuseAll(notices, r.deps.Host.EndReason())
		return nil
	}
	if r.life.phase == quarantined {
		r.receiveQuarantined(notices)
		return r.hand.takeAgain()
	}
	if r.instance.Warm() {
		r.deps.resident.Use(r.id)
	}
	f := guarded(func() { r.handle(notices) })
	if handled := r.hand.takeHandled(notices); f != nil {
		r.quarantine(handled, f)
	}
	r.instance.DropRoom()
	r.eagerStart.discard() // unless it has become the first turn
	r.eagerStart = nil
	return r.hand.takeAgain()
}

// Rests implements actor.Resting: a run that waits for memory must not keep those from working that
// have it.
func (r *run) Rests() time.Duration { return r.failures.takeRest() }

// handle receives notices and then takes as many turns as they allow.
func (r *run) handle(notices []notice) {
	r.hand.unreceived = notices
	defer func() { r.hand.unreceived = nil }()
	if r.row == nil || r.pendingWrite != nil {
		notices = dropReleases(notices)
	}
	if !r.settlePending(notices) {
		return
	}
	if r.row == nil {
		var loaded bool
		if notices, loaded = r.ensureLoaded(notices); !loaded {
			return
		}
	}
	for i, m := range notices {
		if r.row == nil || r.pendingWrite != nil {
			// The run was unloaded, or has something to commit first: the rest is received after that.
			r.hand.requeue(notices[i:]...)
			return
		}
		r.hand.unreceived = notices[i+1:]
		r.receive(m)
	}
	if r.row == nil || r.pendingWrite != nil || r.readMail() {
		r.advance()
	}
	if r.row != nil && r.pendingWrite == nil && len(r.mail.asked) > 0 && !r.deps.Host.Over() {
		r.commitStops()
	}
	r.mail.letGo()
	r.payForMail()
}
