package entity

import (
	"math"
	"slices"
	"time"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/actor"
	"github.com/cruster/cruster/host/budget"
	"github.com/cruster/cruster/journal"
)

// entity is an entity in memory: see the package comment. All of it belongs to the
// goroutine that the actor has, of which there is at most one. It never waits.
type entity struct {
	*Entities
	id journal.ID

	queue     []*call                  // that change the state, in the order in which they will
	batch     []*call                  // those of them that are at work
	beside    []*call                  // that wait to run beside others
	joining   []*call                  // that wait for the message of their origin to be read
	running   int                      // that run beside others
	byOrigin  map[journal.Origin]*call // all that have an origin
	positions map[uint64]*call         // all that are in the inbox

	state      *snapshot      // of the last commit; nil if it is not in memory
	generation uint64         // counts what may make a row that is being read outdated
	memory     *budget.Permit // of the state; or nil
	recent     recent         // origins that there are receipts of

	acked    uint64 // the last message that was acknowledged; MaxUint64 if that is not known
	seen     uint64 // up to where messages have been in memory
	unread   bool   // there may be messages that are not in memory
	fetching bool
	barren   bool // reading the inbox brings nothing before something at work is over
	starts   bool // there are workflows to be started
	starting bool

	mailbox, concurrency int
	idleTime             time.Duration
	usedAt               int64
	setbacks             int   // failures of the host, one after the other
	retryAt              int64 // nothing is read before; 0 if there was no setback
	timerAt              int64 // 0 if there is no timer
	idle                 bool  // it may be forgotten
}

var _ actor.Actor[message] = (*entity)(nil)

func newEntity(x *Entities, id journal.ID) *entity {
	e := &entity{
		Entities: x, id: id, byOrigin: map[journal.Origin]*call{}, positions: map[uint64]*call{},
		mailbox: defaultMailbox, concurrency: defaultConcurrency, idleTime: x.IdleTime,
	}
	if !x.recovered.Load() {
		// Messages from before the host began may be waiting. Calls come after them.
		e.unread, e.acked = true, math.MaxUint64
	}
	return e
}

// Receive implements actor.Actor.
func (e *entity) Receive(messages []message) []message {
	for _, m := range messages {
		if _, idle := m.(tick); !idle {
			e.usedAt = e.now()
		}
		e.receive(m)
	}
	e.advance()
	return nil
}

func (e *entity) receive(m message) {
	switch m := m.(type) {
	case arrival:
		e.arrive(m.call)
	case withdrawal:
		m.reply <- e.withdrawn(m)
	case roomRequest:
		m.reply <- e.hasRoom(m.call)
	case mail:
		e.unread, e.barren = true, false
		if e.acked != math.MaxUint64 {
			e.acked = max(e.acked, m.position)
		}
	case fetched:
		e.takeFetched(m)
	case batchDone:
		e.endBatch(m.batchResult)
	case callDone:
		e.endBeside(m)
	case startsDone:
		e.starting, e.barren = false, false
		if m.err != nil {
			e.starts = true
			e.setback("start workflows", m.err)
		}
	case tick:
		e.timerAt = 0
		if e.retryAt <= e.now() {
			e.retryAt = 0
		}
	}
}

// arrive takes a call in, or refuses it.
func (e *entity) arrive(c *call) {
	e.mailbox, e.concurrency = c.mailbox, c.concurrency
	if c.idleTime > 0 {
		e.idleTime = time.Duration(c.idleTime)
	}
	if first := e.byOrigin[c.origin]; first != nil {
		e.join(first, c)
		return
	}
	if c.joins {
		e.joinLater(c)
		return
	}
	if e.positions[c.position] != nil {
		e.join(e.positions[c.position], c) // the inbox was read meanwhile
		return
	}
	if c.position == 0 && e.waiting() >= e.mailbox {
		c.reply(answer{err: e.mailboxFull(c)})
		return
	}
	c.after = e.acked
	c.suspect = e.recent.has(c.origin)
	e.know(c)
	if c.kind.serial() {
		e.queue = append(e.queue, c)
	} else {
		e.beside = append(e.beside, c)
	}
}

// mailboxFull refuses a call.
func (e *entity) mailboxFull(c *call) error {
	e.metrics.refused.Inc()
	return abi.Errorf(abi.CodeMailboxFull, "%d calls of %s wait already: %q was not accepted", c.mailbox, c.ref, c.operation)
}

// join makes a call a part of another of the same origin.
func (e *entity) join(first, c *call) {
	first.waiters = append(first.waiters, c.waiters...)
	c.waiters, c.joined = nil, first
	c.reply(answer{}) // to let go of its memory; no one is answered
}

// waiting counts the calls that wait for their turn and are in memory only.
func (e *entity) waiting() (n int) {
	for _, calls := range [][]*call{e.queue, e.beside} {
		for _, c := range calls {
			if c.position == 0 {
				n++
			}
		}
	}
	return n
}

// know takes note of a call that waits.
func (e *entity) know(c *call) {
	e.metrics.queued.Inc()
	if c.leavesReceipt() {
		e.byOrigin[c.origin] = c
	}
	if c.position != 0 {
		e.positions[c.position] = c
	}
}

// forget is the opposite of know, once a call is over.
func (e *entity) forget(c *call) {
	if e.byOrigin[c.origin] == c {
		delete(e.byOrigin, c.origin)
	}
	if c.position != 0 {
		delete(e.positions, c.position)
	}
}

// withdrawn takes out a caller that does not wait any more, and with the last one its call,
// unless that is at work or durable. It reports whether the call was accepted.
func (e *entity) withdrawn(m withdrawal) (accepted bool) {
	c := m.call.whole()
	i := slices.Index(c.waiters, m.waiter)
	if i < 0 {
		return true // it has been answered
	}
	c.waiters = slices.Delete(c.waiters, i, i+1)
	if len(c.waiters) > 0 || c.atWork || c.position != 0 || c.joins {
		return true
	}
	isCall := func(other *call) bool { return other == c }
	e.queue, e.beside = slices.DeleteFunc(e.queue, isCall), slices.DeleteFunc(e.beside, isCall)
	e.forget(c)
	e.metrics.queued.Dec()
	c.reply(answer{})
	return false
}

// advance begins all that can be begun.
func (e *entity) advance() {
	if e.Host.Over() {
		return
	}
	e.beginFetch()
	e.beginStarts()
	e.beginBatch()
	e.beginBeside()
}

// begin has a task performed, and what it reports received. It reports false if the host
// does not begin anything any more.
func (e *entity) begin(places *actor.FairQueue[journal.ID], task func() message) bool {
	return places.Go(e.id, func() { e.actors.Post(e.id, task()) })
}

// setback has the inbox left alone for a while, longer each time.
func (e *entity) setback(doing string, err error) {
	e.setbacks++
	delay := min(50*time.Millisecond<<min(e.setbacks-1, 10), 30*time.Second)
	e.retryAt = e.Clock.Now().Add(delay).UnixNano()
	e.Logger.Warn("an entity could not go on; trying again", "id", e.id, "doing", doing, "error", err, "delay", delay)
}

// Park implements actor.Actor: it sets the timer, and finds out whether the entity may be
// forgotten.
func (e *entity) Park() []message {
	e.idle = false
	due := e.retryAt
	if e.atRest() {
		due = e.usedAt + int64(e.idleTime)
		e.idle = due <= e.now()
	}
	switch {
	case e.idle:
		e.timers.Set(e.id, journal.Never)
	case due != 0 && (e.timerAt == 0 || due < e.timerAt):
		e.timerAt = due
		e.timers.Set(e.id, due)
	}
	return nil
}

// atRest tells whether nothing waits and nothing is at work.
func (e *entity) atRest() bool {
	return len(e.queue)+len(e.batch)+len(e.beside)+len(e.joining)+e.running == 0 && !e.unread && !e.fetching && !e.starts && !e.starting
}

// Release implements actor.Actor.
func (e *entity) Release() bool { return e.idle }

// Forgotten implements actor.Actor.
func (e *entity) Forgotten() { e.keep(nil) }

// stateCost is about how many bytes of memory a state takes besides its own.
const stateCost = 512

// keep keeps a state in memory, if there is room for it. The store has it in any case.
func (e *entity) keep(s *snapshot) {
	e.state = nil
	if e.memory != nil {
		e.memory.Release()
		e.memory = nil
	}
	if s == nil {
		return
	}
	memory := e.Queued.Empty()
	if memory.Grow(stateCost + int64(s.bytes())) {
		e.state, e.memory = s, memory
	}
}
