package entity

import (
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
	if e.holding.WantsLook(e.workers.now()) && e.reading.until == 0 && e.mailbox.MindsLock() {
		known, state, generation := e.holding.Lock(), e.state.Snapshot(), e.generation
		e.holding.BeginLook(e.begin(e.workers.working, func() message {
			return looked{e.workers.locks.Look(e.id, known, state), generation}
		}))
	}
	return e.holding.Known()
}

// takeLooked takes over the result of a look at the lock.
func (e *entity) takeLooked(m looked) {
	known := e.holding.Known()
	used := e.holding.EndLook(&m.Look, m.generation == e.generation)
	if m.Err != nil {
		e.retryLater("look at its lock", m.Err)
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
			e.workers.metrics.LockWait.Observe(time.Duration(e.workers.now() - c.Since).Seconds())
		}
		e.holding.EndLock(c, res.Lock)
	case c.Kind == call.Unlock && res.Err == nil:
		e.holding.EndUnlock(c.From)
	}
}

// failWaiting answers queued callers with an error, if the entity cannot tell whether it is held.
// Messages stay in the inbox.
func (e *entity) failWaiting(err error) {
	for _, c := range e.mailbox.TakeOut(func(c *call.Call) bool {
		return c.Position == 0 && c.Kind != call.Stateless
	}) {
		e.end(c, nil, err)
	}
}

// tellLocked answers the requests for a lock that is held for them.
func (e *entity) tellLocked() {
	held := e.holding.Lock()
	if held == nil {
		return
	}
	for _, c := range e.mailbox.TakeOut(func(c *call.Call) bool {
		return c.Kind == call.Lock && c.Position == 0 && c.From == held.Holder
	}) {
		c.Reply(call.Answer{Outcome: abi.Outcome{Value: abi.Nil}})
	}
}
