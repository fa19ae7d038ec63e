package entity

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/faultpoint"
	"github.com/cruster/cruster/journal"
)

// lookEvery is how often an entity that is held, while others wait for it, looks whether the
// section of its holder has ended. It is told of nearly all ends: see [Entities.Unlocked].
const lookEvery = time.Second

// holding is an entity's knowledge of its lock.
type holding struct {
	known   bool          // the row of the lock was looked at
	looking bool          // it is being looked at
	lock    *journal.Lock // of the run that holds the entity; nil if none does
	// leftover says that there is a row of a lock that no one holds: it is deleted with the
	// next commit.
	leftover bool
	lookAt   int64 // when to look whether the holder is in its section still; 0 if no one waits
}

// mayPass tells whether a call may begin before the end of the section that holds the entity:
// it is one of the holder's run. What that sent as a message waits as others do, except to be locked once more.
func (h *holding) mayPass(c *call) bool {
	switch {
	case h.lock == nil || c.kind == unlock:
		return true
	case c.kind == lock:
		return c.from == h.lock.Holder
	default:
		return c.position == 0 && c.from.Run == h.lock.Holder.Run
	}
}

// allows refuses a call that was made in a section which does not hold the entity.
func (h *holding) allows(c *call) error {
	section := journal.Caller{ID: c.from.ID, Run: c.from.Run, Step: c.section}
	if c.section == (journal.StepID{}) || h.lock != nil && h.lock.Holder == section {
		return nil
	}
	return abi.Errorf(abi.CodeNotLocked, "%s is not locked by the critical section in which %q was called", c.ref, c.operation)
}

// beginLook starts a read of the lock's row, if it is not known or may be out of date. It reports
// whether the entity may begin calls: see [holding.mayPass].
func (e *entity) beginLook() bool {
	e.tellLocked()
	wanted := !e.holding.known || e.holding.lookAt != 0 && e.holding.lookAt <= e.entities.now()
	if wanted && !e.holding.looking && e.reading.until == 0 && e.somethingWaits() {
		known, state, generation := e.holding.lock, e.state, e.generation
		e.holding.looking = e.begin(e.entities.working, func() message { return e.entities.look(e.id, known, state, generation) })
	}
	return e.holding.known
}

// somethingWaits tells whether a call waits that a lock may keep from being begun.
func (e *entity) somethingWaits() bool {
	return len(e.queue) > 0 || slices.ContainsFunc(e.concurrent, func(c *call) bool { return c.kind != stateless })
}

// look reads the holder of an entity, and its state if that is not known. Known is the lock that is
// known: it is the one in the store, as no one else writes it.
func (x *Entities) look(id journal.ID, known *journal.Lock, state *snapshot, generation uint64) (l looked) {
	l.generation = generation
	l.err = guarded(func() (err error) {
		if known == nil {
			if known, l.state, err = x.readLock(x.Host.Context(), id, state); err != nil {
				return err
			}
		}
		if l.lock = known; known != nil {
			l.held, err = x.Store.InSection(x.Host.Context(), known.Holder)
		}
		return err
	})
	return l
}

// readLock reads the lock of an entity, nil if there is none, and its state if that is not known.
func (x *Entities) readLock(ctx context.Context, id journal.ID, known *snapshot) (*journal.Lock, *snapshot, error) {
	if known == nil {
		row, lock, err := x.Store.LockedEntity(ctx, id)
		if err != nil {
			return nil, nil, err
		}
		return lock, &snapshot{row}, nil
	}
	lock, err := x.Store.Lock(ctx, id)
	if err != nil && !errors.Is(err, journal.ErrNotFound) {
		return nil, nil, err
	}
	return lock, nil, nil
}

// takeLooked takes over the result of a look at the lock.
func (e *entity) takeLooked(m looked) {
	h := &e.holding
	h.looking, h.lookAt = false, 0
	switch {
	case m.err != nil:
		e.setback(&e.reading, "look at its lock", m.err)
		e.failWaiting(m.err)
		return
	case !h.known && m.generation != e.generation:
		return // the host has failed since
	case !h.known:
		h.known = true
		if m.state != nil {
			e.keep(m.state)
		}
		if m.lock != nil {
			h.lock = m.lock
			e.entities.holders.add(m.lock.Holder, e.id)
		}
	case h.lock != m.lock:
		return // it was told meanwhile
	}
	if h.lock != nil && !m.held {
		e.unheld()
	}
	e.reading.failures = 0
}

// unheld says that no one holds the entity any more. The row is there still.
func (e *entity) unheld() {
	e.entities.holders.remove(e.holding.lock.Holder, e.id)
	e.holding.lock, e.holding.leftover, e.holding.lookAt = nil, true, 0
}

// isUnlocked records that the section of a step has ended.
func (e *entity) isUnlocked(step journal.Caller) {
	if e.holding.lock != nil && e.holding.lock.Holder == step {
		e.unheld()
	}
	for _, c := range e.batch {
		if c.kind == lock && c.from == step {
			c.over = true // the lock that is being written is worth nothing
		}
	}
}

// endLock takes over a batch's result about the lock.
func (e *entity) endLock(batch []*call, res batchResult) {
	h := &e.holding
	if res.unlocked {
		h.leftover = false
	}
	if res.fault {
		e.forgetLock()
	}
	if len(batch) == 0 {
		return
	}
	switch c := batch[0]; {
	case c.kind == lock && res.lock == nil:
		if h.lock == nil || h.lock.Holder != c.from {
			e.entities.holders.remove(c.from, e.id)
		}
	case c.kind == lock:
		h.lock, h.leftover = res.lock, false
		e.entities.metrics.lockWait.Observe(time.Duration(e.entities.now() - c.since).Seconds())
		if c.over {
			e.unheld()
		}
	case c.kind == unlock && res.err == nil && h.lock != nil && h.lock.Holder == c.from:
		e.unheld()
		h.leftover = false
	}
}

// forgetLock has the lock looked at before anything else begins.
func (e *entity) forgetLock() {
	if e.holding.lock != nil {
		e.entities.holders.remove(e.holding.lock.Holder, e.id)
	}
	e.holding = holding{}
}

// failWaiting answers queued callers with an error, if the entity cannot tell whether it is held.
// Messages stay in the inbox.
func (e *entity) failWaiting(err error) {
	failed := func(c *call) bool {
		if c.position != 0 || c.kind == stateless {
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
	h := e.holding.lock
	if h == nil {
		return
	}
	e.queue = slices.DeleteFunc(e.queue, func(c *call) bool {
		if c.kind != lock || c.position != 0 || c.from != h.Holder {
			return false
		}
		e.unqueue(c)
		c.reply(answer{outcome: abi.Outcome{Value: abi.Nil}})
		return true
	})
}

// waitForSection sets when to look whether the section of the holder has ended.
func (e *entity) waitForSection() {
	h := &e.holding
	switch {
	case h.lock == nil || !e.somethingWaits():
		h.lookAt = 0
	case h.lookAt == 0 && !h.looking:
		h.lookAt = e.entities.Clock.Now().Add(lookEvery).UnixNano()
	}
}

// performLock is the task of a batch that locks, or takes a lock away.
func (b *batch) performLock(c *call) error {
	if c.kind == unlock && b.lock != nil && b.lock.Holder != c.from {
		b.answers[c] = answer{outcome: abi.Outcome{Value: abi.Nil}} // it is another's by now
		return nil
	}
	w, a := journal.Write{ID: b.id, Unlock: c.kind == unlock}, answer{outcome: abi.Outcome{Value: abi.Nil}}
	if c.kind == lock {
		lasts, err := b.entities.Store.InSection(b.entities.Host.Context(), c.from)
		switch {
		case err != nil:
			return err
		case !lasts:
			a = answer{err: abi.Errorf(abi.CodeNotLocked, "%s was not locked: the critical section is over", c.ref)}
		case b.lock == nil:
			w.Lock = &journal.Lock{Entity: b.id, Namespace: c.ref.Namespace, Type: c.ref.Type, Key: c.ref.Key, Holder: c.from, Since: b.entities.now()}
		}
	}
	if c.position != 0 {
		w.Take = []uint64{c.position}
	}
	if a.err == nil {
		w.Send = c.answerTo(b.id, a.outcome, b.entities.now())
	}
	if w.Lock != nil {
		b.entities.Fault.Pass(faultpoint.LockBeforeCommit)
	}
	withWitness(&w, b.entities.now())
	if err := b.commit(w); err != nil {
		return err
	}
	if b.locked = w.Lock; w.Lock != nil {
		b.entities.Fault.Pass(faultpoint.LockAfterCommit)
	}
	b.answers[c] = a
	return nil
}

// Unlocked reports that the section of a step has ended: the entities that it has locked go on.
func (x *Entities) Unlocked(step journal.Caller) {
	for _, id := range x.holders.of(step) {
		x.actors.Post(id, unlocked{step})
	}
}

// Unlock takes the lock of an entity away from its holder, which is returned; nil if there is
// none. The holder is not told: its next call is refused.
func (x *Entities) Unlock(ctx context.Context, ref Ref) (*journal.Lock, error) {
	if err := x.Host.Accepting(); err != nil {
		return nil, err
	}
	id := ref.ID()
	row, err := x.Store.Lock(ctx, id)
	if errors.Is(err, journal.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, journal.Coded("unlock "+ref.String(), err)
	}
	held, err := x.Store.InSection(ctx, row.Holder)
	if err != nil {
		return nil, journal.Coded("unlock "+ref.String(), err)
	}
	c := &call{ref: ref, kind: unlock, operation: "unlock", from: row.Holder, mailbox: defaultMailbox, concurrency: defaultConcurrency}
	if _, err := x.ask(ctx, c); err != nil || !held {
		return nil, err
	}
	x.Logger.Warn("an operator took away the lock of an entity: the critical section of its holder is broken",
		"entity", ref.String(), "namespace", ref.Namespace, "holder", row.Holder.ID, "run", row.Holder.Run, "since", time.Unix(0, row.Since))
	return row, nil
}

// Waiter is a caller queued for the lock of an entity.
type Waiter struct {
	// From is the step of a workflow; zero if it is a client.
	From journal.Caller
	// Operation is "lock", or the called operation.
	Operation string
	Since     int64
}

// maxWaiters bounds how many waiters of an entity are listed.
const maxWaiters = 50

// Waiters lists who waits for an entity, the first first, and counts them.
func (x *Entities) Waiters(ctx context.Context, id journal.ID) (waiters []Waiter, total int, err error) {
	if !x.actors.Has(id) {
		return nil, 0, nil
	}
	reply := make(chan waitersReply, 1)
	x.actors.Post(id, waitersRequest{reply})
	select {
	case r := <-reply:
		return r.waiters, r.total, nil
	case <-ctx.Done():
		return nil, 0, ctx.Err()
	case <-x.Host.Context().Done():
		return nil, 0, x.Host.EndReason()
	}
}

func (e *entity) waiters() (r waitersReply) {
	for _, calls := range [][]*call{e.queue, e.concurrent} {
		r.total += len(calls)
		for _, c := range calls {
			if len(r.waiters) < maxWaiters {
				r.waiters = append(r.waiters, Waiter{From: c.from, Operation: c.operation, Since: c.since})
			}
		}
	}
	return r
}

// Locks lists locks that are held.
func (x *Entities) Locks(ctx context.Context, f journal.LockFilter) (locks []journal.HeldLock, after journal.ID, more bool, err error) {
	if locks, after, more, err = x.Store.Locks(ctx, f); err != nil {
		err = journal.Coded("list locks", err)
	}
	return locks, after, more, err
}

// holders knows which entities in memory a section holds, or is about to: they are told when it
// ends.
type holders struct {
	mu  sync.Mutex
	ids map[journal.Caller][]journal.ID // guarded by mu
}

func (h *holders) add(step journal.Caller, id journal.ID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ids == nil {
		h.ids = map[journal.Caller][]journal.ID{}
	}
	if !slices.Contains(h.ids[step], id) {
		h.ids[step] = append(h.ids[step], id)
	}
}

func (h *holders) remove(step journal.Caller, id journal.ID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	left := slices.DeleteFunc(slices.Clone(h.ids[step]), func(other journal.ID) bool { return other == id })
	if len(left) > 0 {
		h.ids[step] = left
	} else {
		delete(h.ids, step)
	}
}

func (h *holders) of(step journal.Caller) []journal.ID {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.ids[step])
}
