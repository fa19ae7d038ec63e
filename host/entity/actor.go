package entity

import (
	"github.com/cruster/cruster/host/actor"
	"github.com/cruster/cruster/host/entity/call"
	"github.com/cruster/cruster/host/entity/fault"
	"github.com/cruster/cruster/journal"
)

var _ actor.Actor[message] = (*entity)(nil)

// Receive implements actor.Actor.
func (e *entity) Receive(messages []message) []message {
	for _, m := range messages {
		if _, idle := m.(tick); !idle {
			e.usedAt = e.workers.now()
		}
		if err := fault.Guard(func() error { e.receive(m); return nil }); err != nil {
			e.refuse(m, err)
		}
	}
	if err := fault.Guard(func() error { e.advance(); return nil }); err != nil {
		e.refuse(nil, err)
	}
	return nil
}

func (e *entity) receive(m message) {
	switch m := m.(type) {
	case arrival:
		m.call.Since = e.workers.now()
		e.mailbox.Arrive(m.call, e.holding.Lock() != nil && e.holding.MayPass(m.call))
	case withdrawal:
		if m.unless == call.IsAtWork {
			e.tellLocked() // a lock that its step has is not left behind
		}
		m.reply <- e.mailbox.Withdraw(m.call, m.waiter, m.unless)
	case roomRequest:
		m.reply <- e.mailbox.HasRoom(m.call)
	case mail:
		e.mailbox.Hear(m.position)
	case past:
		e.looked = m.looked
		e.mailbox.LookBack()
	case fetched:
		e.takeFetched(m)
	case batchDone:
		e.endBatch(m.Result)
	case callDone:
		e.endConcurrent(m)
	case looked:
		e.takeLooked(m)
	case unlocked:
		e.isUnlocked(m.step)
	case waitersRequest:
		m.reply <- e.mailbox.Waiters()
	case startsDone:
		e.mailbox.TaskEnded()
		e.starts.end(e.workers, e.id, m.err)
	case tick:
		e.timerAt = 0
		e.reading.over(e.workers.now())
		e.starts.pause.over(e.workers.now())
	}
}

// advance begins all that can be begun.
func (e *entity) advance() {
	if e.workers.host.Over() {
		return
	}
	e.beginFetch()
	e.starts.begin(e.workers, e.id)
	if e.beginLook() {
		e.beginBatch()
	}
	e.beginConcurrent()
	e.holding.Await(e.mailbox.MindsLock(), e.workers.now())
}

// Park implements actor.Actor: it sets the timer, and finds out whether the entity may be
// forgotten.
func (e *entity) Park() []message {
	if e.looked != nil && !e.isAtWork() {
		e.looked()
		e.looked = nil
	}
	e.idle = false
	due := earliest(e.holding.LookAt(), e.reading.until, e.starts.pause.until)
	if e.atRest() {
		// Without a state it keeps nothing that would have to be read again.
		due = e.usedAt + int64(e.mailbox.Limits().IdleTime)
		e.idle = e.state.Snapshot() == nil || due <= e.workers.now()
	}
	switch {
	case e.idle && e.timerAt != 0:
		e.workers.timers.Set(e.id, journal.Never)
	case e.idle:
	case due != 0 && (e.timerAt == 0 || due < e.timerAt):
		e.timerAt = due
		e.workers.timers.Set(e.id, due)
	}
	return nil
}

// isAtWork tells whether a task is at work.
func (e *entity) isAtWork() bool {
	return len(e.batch)+e.running > 0 || e.mailbox.Fetching() || e.starts.running || e.holding.Looking()
}

// atRest tells whether nothing waits and nothing is at work.
func (e *entity) atRest() bool { return !e.isAtWork() && e.mailbox.IsEmpty() && !e.starts.wanted }

// Release implements actor.Actor.
func (e *entity) Release() bool { return e.idle }

// Forgotten implements actor.Actor.
func (e *entity) Forgotten() {
	e.state.Keep(nil)
	e.holding.Forget()
}
