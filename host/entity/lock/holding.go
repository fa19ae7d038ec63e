package lock

import (
	"time"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/entity/call"
	"github.com/cruster/cruster/journal"
)

// LookEvery is how often an entity that is held, while others wait for it, looks whether the
// section of its holder has ended. It is told of nearly all ends.
const LookEvery = time.Second

// Holding is an entity's knowledge of its lock. It belongs to the actor of the entity.
type Holding struct {
	entity  journal.ID
	holders *Holders

	known   bool          // the row of the lock was looked at
	looking bool          // it is being looked at
	lock    *journal.Lock // of the run that holds the entity; nil if none does
	// leftover says that there is a row of a lock that no one holds: it is deleted with the next commit.
	leftover bool
	lookAt   int64 // when to look whether the holder is in its section still; 0 if no one waits
}

// NewHolding knows nothing yet of the lock of an entity.
func NewHolding(entity journal.ID, holders *Holders) Holding {
	return Holding{entity: entity, holders: holders}
}

// Known tells whether the row of the lock was looked at.
func (h *Holding) Known() bool { return h.known }

// Looking tells whether the lock is being looked at.
func (h *Holding) Looking() bool { return h.looking }

// Lock is the lock of the run that holds the entity; nil if none does.
func (h *Holding) Lock() *journal.Lock { return h.lock }

// Leftover tells whether there is the row of a lock that no one holds.
func (h *Holding) Leftover() bool { return h.leftover }

// LookAt is when to look at the lock again; 0 if no one waits.
func (h *Holding) LookAt() int64 { return h.lookAt }

// MayPass tells whether a call may begin before the end of the section that holds the entity: it comes from the
// holder's run. A message of that run waits as others do, except to be locked once more.
func (h *Holding) MayPass(c *call.Call) bool {
	switch {
	case h.lock == nil || c.Kind == call.Unlock:
		return true
	case c.Kind == call.Lock:
		return c.From == h.lock.Holder
	default:
		return c.Position == 0 && c.From.Run == h.lock.Holder.Run
	}
}

// Allows refuses a call that was made in a section which does not hold the entity.
func (h *Holding) Allows(c *call.Call) error {
	section := journal.Caller{ID: c.From.ID, Run: c.From.Run, Step: c.Section}
	if c.Section == (journal.StepID{}) || h.lock != nil && h.lock.Holder == section {
		return nil
	}
	return abi.Errorf(
		abi.CodeNotLocked, "%s is not locked by the critical section in which %q was called", c.Ref, c.Operation,
	)
}

// WantsLook tells whether the row of the lock is to be read: it is not known, or may be out of date.
func (h *Holding) WantsLook(now int64) bool {
	return !h.looking && (!h.known || h.lookAt != 0 && h.lookAt <= now)
}

// BeginLook says whether the row is being read.
func (h *Holding) BeginLook(begun bool) { h.looking = begun }

// EndLook takes over the result of a look that was begun as of the current generation, or an older one. It reports
// whether the result was of use.
func (h *Holding) EndLook(l *Look, current bool) (used bool) {
	h.looking, h.lookAt = false, 0
	switch {
	case l.Err != nil:
		return false
	case !h.known && !current:
		return false // the host has failed since
	case !h.known:
		h.known = true
		if l.Lock != nil {
			h.lock = l.Lock
			h.holders.add(l.Lock.Holder, h.entity)
		}
	case h.lock != l.Lock:
		return false // it was told meanwhile
	}
	if h.lock != nil && !l.Held {
		h.unheld()
	}
	return true
}

// Await sets when to look whether the section of the holder has ended, if anything waits for that.
func (h *Holding) Await(waits bool, now int64) {
	switch {
	case h.lock == nil || !waits:
		h.lookAt = 0
	case h.lookAt == 0 && !h.looking:
		h.lookAt = now + int64(LookEvery)
	}
}

// Begin says that the lock is being written for a step. It comes before it is made sure that the step's section lasts.
func (h *Holding) Begin(step journal.Caller) { h.holders.add(step, h.entity) }

// EndLock says that a call for the lock has been performed, and which row was written; nil if none.
func (h *Holding) EndLock(c *call.Call, written *journal.Lock) {
	if written == nil {
		if h.lock == nil || h.lock.Holder != c.From {
			h.holders.remove(c.From, h.entity)
		}
		return
	}
	h.lock, h.leftover = written, false
	if c.Over {
		h.unheld()
	}
}

// EndUnlock says that an operator has taken the lock away from a step.
func (h *Holding) EndUnlock(step journal.Caller) {
	if h.lock != nil && h.lock.Holder == step {
		h.unheld()
		h.leftover = false
	}
}

// SectionEnded says that the section of a step has ended. The row is there still.
func (h *Holding) SectionEnded(step journal.Caller) {
	if h.lock != nil && h.lock.Holder == step {
		h.unheld()
	}
}

// RowDeleted says that there is no row of a lock any more.
func (h *Holding) RowDeleted() { h.leftover = false }

// Forget has the lock looked at before anything else begins.
func (h *Holding) Forget() {
	if h.lock != nil {
		h.holders.remove(h.lock.Holder, h.entity)
	}
	*h = NewHolding(h.entity, h.holders)
}

// unheld says that no one holds the entity any more. The row is there still.
func (h *Holding) unheld() {
	h.holders.remove(h.lock.Holder, h.entity)
	h.lock, h.leftover, h.lookAt = nil, true, 0
}
