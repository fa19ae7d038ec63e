package entity

import (
	"slices"
	"time"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/entity/batch"
	"github.com/cruster/cruster/host/entity/call"
	"github.com/cruster/cruster/journal"
)

// beginLook starts a read of the lock's row, if it is not known or may be out of date. It reports
// whether the entity may begin calls: see [lock.Holding.MayPass].
func (e *entity) beginLook() bool {
	e.tellLocked()
	if e.holding.WantsLook(e.entities.now()) && e.reading.until == 0 && e.somethingWaits() {
		known, state, generation := e.holding.Lock(), e.state.Snapshot(), e.generation
		e.holding.BeginLook(e.begin(e.entities.working, func() message {
			return looked{e.entities.locks.Look(e.id, known, state), generation}
		}))
	}
	return e.holding.Known()
}

// somethingWaits tells whether a call waits that a lock may keep from being begun.
func (e *entity) somethingWaits() bool {
	return len(e.queue) > 0 ||
		slices.ContainsFunc(e.concurrent, func(c *call.Call) bool { return c.Kind != call.Stateless })
}

// takeLooked takes over the result of a look at the lock.
func (e *entity) takeLooked(m looked) {
	known := e.holding.Known()
	used := e.holding.EndLook(&m.Look, m.generation == e.generation)
	if m.Err != nil {
		e.setback(&e.reading, "look at its lock", m.Err)
		e.failWaiting(m.Err)
		return
	}
	if !used {
		return
	}
	if !known && m.State != nil {
		e.state.Keep(m.State)
	}
	e.reading.failures = 0
}

// isUnlocked records that the section of a step has ended.
func (e *entity) isUnlocked(step journal.Caller) {
	e.holding.SectionEnded(step)
	for _, c := range e.batch {
		if c.Kind == call.Lock && c.From == step {
			c.Over = true // the lock that is being written is worth nothing
		}
	}
}

// endLock takes over a batch's result about the lock.
func (e *entity) endLock(calls []*call.Call, res batch.Result) {
	if res.Unlocked {
		e.holding.RowDeleted()
	}
	if res.Fault {
		e.holding.Forget()
	}
	if len(calls) == 0 {
		return
	}
	switch c := calls[0]; {
	case c.Kind == call.Lock:
		if res.Lock != nil {
			e.entities.metrics.LockWait.Observe(time.Duration(e.entities.now() - c.Since).Seconds())
		}
		e.holding.EndLock(c, res.Lock)
	case c.Kind == call.Unlock && res.Err == nil:
		e.holding.EndUnlock(c.From)
	}
}

// failWaiting answers queued callers with an error, if the entity cannot tell whether it is held.
// Messages stay in the inbox.
func (e *entity) failWaiting(err error) {
	failed := func(c *call.Call) bool {
		if c.Position != 0 || c.Kind == call.Stateless {
			return false
		}
		e.unqueue(c)
		e.end(c, nil, err)
		return true
	}
	e.queue, e.concurrent = slices.DeleteFunc(e.queue, failed), slices.DeleteFunc(e.concurrent, failed)
}

// tellLocked answers the requests for a lock that is held for them.
func (e *entity) tellLocked() {
	h := e.holding.Lock()
	if h == nil {
		return
	}
	e.queue = slices.DeleteFunc(e.queue, func(c *call.Call) bool {
		if c.Kind != call.Lock || c.Position != 0 || c.From != h.Holder {
			return false
		}
		e.unqueue(c)
		c.Reply(call.Answer{Outcome: abi.Outcome{Value: abi.Nil}})
		return true
	})
}

// waiters lists the callers that wait for the entity.
func (e *entity) waiters() (r waitersReply) {
	for _, calls := range [][]*call.Call{e.queue, e.concurrent} {
		r.total += len(calls)
		for _, c := range calls {
			if len(r.waiters) < maxWaiters {
				r.waiters = append(r.waiters, Waiter{From: c.From, Operation: c.Operation, Since: c.Since})
			}
		}
	}
	return r
}
