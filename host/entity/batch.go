package entity

import (
	"errors"
	"slices"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/hostfault"
	"github.com/cruster/cruster/journal"
)

// batch is a batch of calls. A task runs them, commits their effects and reports the outcome of
// each.
type batch struct {
	entities *Entities
	id       journal.ID
	name     Ref // of the entity; zero if it is not known
	calls    []*call
	state    *snapshot // of the last commit; nil until it is loaded

	answers map[*call]answer
	woken   []journal.ID // who was sent messages
	starts  bool         // workflows are to be started
	left    error        // why messages that were performed before are in the inbox still
	wary    bool         // any call may be repeated: see receipts.go
	// surprised reports that the commit found a repeated call that was not known to be one.
	surprised bool

	lock     *journal.Lock // of the run that holds the entity; nil if none does
	leftover bool          // there is the row of a lock that no one holds
	unlocked bool          // it was deleted
	locked   *journal.Lock // by this batch; or nil
	fault    bool          // the host has failed: only the store has the truth
	gaveUp   bool          // messages were ended that had no attempts left
}

// batchResult is the outcome of a batch.
type batchResult struct {
	answers map[*call]answer
	// err is why calls without an answer have none.
	err error
	// state is the state as of the last commit; nil if it is not known.
	state  *snapshot
	woken  []journal.ID
	starts bool
	left   error
	// surprised reports that the commit found a repeated call that was not known to be one.
	surprised bool
	// unlocked reports that the row of a stale lock was deleted; lock is the row that was written,
	// if any.
	unlocked bool
	lock     *journal.Lock
	fault    bool
	// gaveUp says that messages were ended that had no attempts left.
	gaveUp bool
	// others are calls that another batch is to perform; each has one of its own if they are apart.
	others []*call
	apart  bool
}

// beginBatch has the next batch performed, unless one is.
func (e *entity) beginBatch() {
	if len(e.batch) > 0 {
		return
	}
	if e.batch = e.takeBatch(); len(e.batch) == 0 {
		return
	}
	for _, c := range e.batch {
		c.beginWork()
		c.refused, c.misfits = e.holding.allows(c), e.misfits[c.position]
		e.unqueue(c)
		if c.kind == lock {
			e.entities.holders.add(c.from, e.id) // before it is made sure that its section lasts
		}
	}
	e.generation++
	b := &batch{
		entities: e.entities, id: e.id, name: e.name, calls: e.batch, state: e.state, answers: map[*call]answer{},
		wary: e.wary > 0, leftover: e.holding.leftover, lock: e.holding.lock,
	}
	if !e.begin(e.entities.working, func() message { return batchDone{b.perform()} }) {
		e.endBatch(batchResult{err: e.entities.Host.EndReason(), state: e.state})
	}
}

// takeBatch takes the next batch out of the queue.
func (e *entity) takeBatch() (batch []*call) {
	if e.holding.lock != nil {
		batch, e.queue = takePassing(e.queue, func(c *call) bool { return e.holding.mayPass(c) || e.holding.allows(c) != nil })
		return batch
	}
	n := e.cutMisfits(cutBatch(e.queue, e.seen))
	batch, e.queue = e.queue[:n:n], e.queue[n:]
	return batch
}

// endBatch answers the calls of a batch.
func (e *entity) endBatch(res batchResult) {
	e.generation++
	e.barren = false
	e.keep(res.state)
	if e.wary = max(e.wary-1, 0); res.surprised {
		e.wary = waryBatches
	}
	done := e.putBack(e.batch, res.others, res.apart)
	e.batch = nil
	e.endLock(done, res)
	for _, c := range done {
		e.end(c, res.answers, res.err)
	}
	if res.err == nil && res.left == nil {
		e.reading.failures = 0
	}
	e.countMisfits(done, res)
	e.readAgain(done, res)
	e.starts = e.starts || res.starts
	for _, id := range res.woken {
		e.entities.actors.Post(id, mail{})
	}
}

// putBack puts calls of a batch back into the queue, where they were, each to have a batch of its own if
// they are to be apart. It returns the rest of the batch.
func (e *entity) putBack(batch, others []*call, apart bool) []*call {
	for _, c := range others {
		c.atWork, c.apart = false, c.apart || apart
		e.know(c)
	}
	e.queue = slices.Concat(others, e.queue)
	return slices.DeleteFunc(slices.Clone(batch), func(c *call) bool { return slices.Contains(others, c) })
}

// end answers one call. A message without an answer stays in the inbox.
func (e *entity) end(c *call, answers map[*call]answer, err error) {
	c.atWork = false
	e.forget(c)
	a, answered := answers[c]
	if answered && e.fetching && c.position != 0 {
		e.taken[c.position] = true
	}
	if !answered {
		a.err = journal.Coded("call "+c.ref.String(), err)
	} else if c.leavesReceipt() && !a.parked {
		e.recent.add(c.origin)
	}
	if a.parked {
		e.hear(c.position) // a retry may have put it back already: a page with it was taken for an old one
	}
	e.entities.metrics.observe(c.kind.String(), a)
	c.reply(a)
}

// readAgain rereads the messages of a batch that are still in the inbox. If some were not
// performed, all behind the lowest of them are: queued messages would overtake it. It need not be
// the first of the batch: a call joined with a later message of its origin has the later position.
func (e *entity) readAgain(done []*call, res batchResult) {
	if res.left != nil {
		e.unread = true
		e.setback(&e.reading, "take out messages that were performed before", res.left)
	}
	var first *call
	for _, c := range done {
		if _, answered := res.answers[c]; c.position != 0 && !answered && (first == nil || c.position < first.position) {
			first = c
		}
	}
	if first == nil {
		return
	}
	e.unread, e.seen = true, min(e.seen, first.position-1)
	e.setback(&e.reading, "perform "+first.operation+" of "+first.ref.String(), res.err)
	e.queue = slices.DeleteFunc(e.queue, func(c *call) bool {
		if c.position <= first.position {
			return false
		}
		e.entities.metrics.queued.Dec()
		e.end(c, nil, res.err)
		return true
	})
}

// perform is the task.
func (b *batch) perform() batchResult {
	err := guarded(b.work)
	var others []*call
	apart := errors.Is(err, errTooLong)
	if apart || errors.Is(err, errOthers) {
		err, others = nil, b.open()
	}
	if err != nil {
		var fault *hostfault.Fault
		if errors.As(err, &fault) {
			b.entities.report(b.id, fault)
		}
		coded := abi.AsError(journal.Coded("work on an entity", err))
		if abi.IsHostFault(coded) {
			b.state, b.fault = nil, true // its state may be half of the truth
		}
		if err = coded; !abi.IsTransient(coded) && !b.entities.Host.Over() {
			b.endHopeless(coded)
		}
	}
	return batchResult{
		answers: b.answers, err: err, state: b.state, woken: b.woken, starts: b.starts, left: b.left,
		surprised: b.surprised, unlocked: b.unlocked, lock: b.locked, fault: b.fault, gaveUp: b.gaveUp, others: others, apart: apart,
	}
}

// work performs the calls that have no answer yet. An error means that the others have none,
// and that nothing of them took effect.
func (b *batch) work() error {
	if k := b.calls[0].kind; k == lock || k == unlock {
		return b.performLock(b.calls[0])
	}
	if b.state == nil {
		s, err := b.entities.load(b.entities.Host.Context(), b.id)
		if err != nil {
			return err
		}
		b.state = s
	}
	if err := b.answerRepeated(func(c *call) bool { return b.wary || c.suspect || c.refused != nil }); err != nil {
		return err
	}
	for _, c := range b.open() {
		if c.refused != nil {
			b.answers[c] = answer{err: c.refused}
		}
	}
	return b.settle(b.calls)
}

// settle performs those of some calls that have no answer yet. If a message of theirs finds the
// inbox of its receiver full, nothing of them took effect: they are performed in halves, until
// what fails is one operation.
func (b *batch) settle(calls []*call) error {
	for {
		open := b.openOf(calls)
		if len(open) == 0 {
			return nil
		}
		repeated, err := b.runAndCommit(open)
		switch {
		case errors.Is(err, journal.ErrInboxFull) && len(open) == 1:
			return b.refuseSender(open[0])
		case errors.Is(err, journal.ErrInboxFull):
			half := len(open) / 2
			if err := b.settle(open[:half]); err != nil {
				return err
			}
			return b.settle(open[half:])
		case err != nil || !repeated:
			return err
		}
	}
}

// refuseSender answers a call whose messages were not accepted. It has changed nothing, and may
// be repeated. A message is parked and not tried again: two entities whose inboxes are full could wait for each other.
func (b *batch) refuseSender(c *call) error {
	full := abi.Errorf(abi.CodeMailboxFull,
		"the inbox of an entity to which %q of %s sends is full, or has too many parked messages: the operation has changed nothing, and sent nothing", c.operation, c.ref)
	b.entities.metrics.refused.Inc()
	if c.position == 0 {
		b.answers[c] = answer{err: full}
		return nil
	}
	r := newRun(b)
	r.parkOrFail(c, full)
	w := r.write([]*call{c})
	if err := b.commit(w); err != nil {
		return err
	}
	r.letOut([]*call{c}, w)
	return nil
}

// open are the calls without an answer.
func (b *batch) open() (calls []*call) { return b.openOf(b.calls) }

// openOf are those of some calls that have no answer.
func (b *batch) openOf(some []*call) (calls []*call) {
	for _, c := range some {
		if _, answered := b.answers[c]; !answered {
			calls = append(calls, c)
		}
	}
	return calls
}

// runAndCommit performs calls. Repeated says that some of them turned out to have been
// performed before, and that nothing of the others took effect.
func (b *batch) runAndCommit(calls []*call) (repeated bool, err error) {
	r := newRun(b)
	stopped := r.perform(calls)
	if errors.Is(stopped, errOthers) {
		calls = r.performed(calls)
	} else if stopped != nil {
		return false, stopped
	}
	w := r.write(calls)
	if err := b.commit(w); err != nil {
		if errors.Is(err, journal.ErrFenced) || b.entities.Host.Over() {
			return false, err
		}
		before := len(b.answers)
		if lerr := b.answerRepeated(func(*call) bool { return true }); lerr != nil {
			return false, lerr
		}
		if len(b.answers) > before {
			return true, nil
		}
		return false, err
	}
	r.letOut(calls, w)
	return false, stopped
}
