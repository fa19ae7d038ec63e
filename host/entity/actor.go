package entity

import (
	"math"
	"slices"
	"time"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/actor"
	"github.com/cruster/cruster/host/entity/call"
	"github.com/cruster/cruster/host/entity/fault"
	"github.com/cruster/cruster/host/entity/lock"
	"github.com/cruster/cruster/host/entity/snapshot"
	"github.com/cruster/cruster/host/entity/target"
	"github.com/cruster/cruster/journal"
)

// entity is an entity in memory: see the package comment. All of it belongs to the actor's
// goroutine; there is at most one. It never waits.
type entity struct {
	entities *Entities
	id       journal.ID
	name     target.Ref // as calls have called it; zero if none has

	queue        []*call.Call                  // that change the state, in the order in which they will
	batch        []*call.Call                  // those of them that are at work
	concurrent   []*call.Call                  // calls waiting to run concurrently
	joining      []*call.Call                  // that wait for the message of their origin to be read
	running      int                           // calls running concurrently
	waiting      int                           // calls that wait for their turn, and are in memory only
	waitingBytes int                           // of their inputs
	byOrigin     map[journal.Origin]*call.Call // all that have an origin
	positions    map[uint64]*call.Call         // all that are in the inbox

	state      snapshot.Cache
	generation uint64         // counts what may make a row that is being read outdated
	recent     recent         // origins that there are receipts of
	misfits    map[uint64]int // by position: see countMisfits
	faulty     bool           // the host has failed at a message of misfits
	wary       int            // batches that look for receipts of all their calls first
	holding    lock.Holding   // who has locked it

	acked     uint64 // the highest position that was acknowledged
	past      bool   // there may be messages from before the host began
	looked    func() // is called when nothing is at work; or nil
	seen      uint64 // see fetch.go
	overtaken bool   // a message was acknowledged at a position below seen
	unread    bool   // there may be messages that are not in memory
	fetching  bool
	// the lowest position that was acknowledged since the reading that is under way began; 0 if none was
	told     uint64
	taken    map[uint64]bool // messages that were answered since then
	awaited  int             // calls of joining that were there before then
	barren   bool            // reading the inbox brings nothing before a running task has ended
	starts   bool            // there are workflows to be started
	starting bool
	// startMisfits counts how often each start was refused for a reason that does not pass, by position; the
	// task's while it is at work.
	startMisfits map[uint64]int

	mailbox, concurrency int
	idleTime             time.Duration
	usedAt               int64
	reading              pause // of the inbox, and of messages that are tried again
	startPause           pause // of starts
	timerAt              int64 // 0 if there is no timer
	idle                 bool  // it may be forgotten
}

var _ actor.Actor[message] = (*entity)(nil)

func newEntity(x *Entities, id journal.ID) *entity {
	e := &entity{
		entities:     x,
		id:           id,
		byOrigin:     map[journal.Origin]*call.Call{},
		positions:    map[uint64]*call.Call{},
		holding:      lock.NewHolding(id, &x.holders),
		state:        snapshot.Cache{Budget: x.Queued, Off: x.EvictAlways},
		misfits:      map[uint64]int{},
		startMisfits: map[uint64]int{},
		mailbox:      call.DefaultMailbox,
		concurrency:  call.DefaultConcurrency,
		idleTime:     x.IdleTime,
	}
	if !x.recovered.Load() {
		e.lookBack()
	}
	return e
}

// lookBack says that messages from before the host began may be waiting. Calls come after them,
// also those that are here already: the entity may come into memory after the recovery that told it
// so has ended.
func (e *entity) lookBack() {
	e.unread, e.barren, e.past = true, false, true
	for _, calls := range [][]*call.Call{e.queue, e.concurrent} {
		for _, c := range calls {
			if c.Position == 0 {
				c.After = math.MaxUint64
			}
		}
	}
}

// Receive implements actor.Actor.
func (e *entity) Receive(messages []message) []message {
	for _, m := range messages {
		if _, idle := m.(tick); !idle {
			e.usedAt = e.entities.now()
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
		e.arrive(m.call)
	case withdrawal:
		m.reply <- e.withdrawn(m)
	case roomRequest:
		m.reply <- e.hasRoom(m.call)
	case mail:
		e.hear(m.position)
	case past:
		e.looked = m.looked
		e.lookBack()
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
		m.reply <- e.waiters()
	case startsDone:
		e.starting, e.barren = false, false
		e.endStarts(m.err)
	case tick:
		e.timerAt = 0
		e.reading.over(e.entities.now())
		e.startPause.over(e.entities.now())
	}
}

// arrive takes a call in, or refuses it.
func (e *entity) arrive(c *call.Call) {
	c.Since = e.entities.now()
	if c.Kind == call.Unlock {
		e.know(c)
		e.queue = slices.Insert(e.queue, 0, c)
		return
	}
	e.limitBy(c)
	if first := e.byOrigin[c.Origin]; first != nil {
		e.join(first, c)
		return
	}
	if c.Joins || c.Position != 0 && e.recent.has(c.Origin) {
		c.Joins = true // the inbox was read meanwhile, and it has been performed
		e.joinLater(c)
		return
	}
	if e.positions[c.Position] != nil {
		e.join(e.positions[c.Position], c) // the inbox was read meanwhile
		return
	}
	if c.Position == 0 && e.isFull(c) && (e.holding.Lock() == nil || !e.holding.MayPass(c)) {
		c.Reply(call.Answer{Err: e.mailboxFull(c)})
		return
	}
	c.After = e.acked
	if e.past {
		c.After = math.MaxUint64
	}
	c.Suspect = c.Suspect || e.recent.has(c.Origin)
	e.know(c)
	if c.Kind.Serial() {
		e.queue = append(e.queue, c)
	} else {
		e.concurrent = append(e.concurrent, c)
	}
}

// maxMailboxBytes bounds the inputs of calls that wait for one entity: it may be held for long.
const maxMailboxBytes = 16 << 20

// isFull tells whether the mailbox has no room for a call. One call has room in any case.
func (e *entity) isFull(c *call.Call) bool {
	return e.waiting >= e.mailbox || e.waiting > 0 && e.waitingBytes+len(c.Input) > maxMailboxBytes
}

// limitBy takes over the limits that the type of a call has now.
func (e *entity) limitBy(c *call.Call) {
	e.name = c.Ref
	e.mailbox, e.concurrency = max(c.Mailbox, 1), max(c.Concurrency, 1)
	if c.IdleTime > 0 {
		e.idleTime = min(time.Duration(c.IdleTime), maxIdleTime)
	}
}

// maxIdleTime bounds how long an entity without calls stays in memory, whatever its type says.
const maxIdleTime = 24 * time.Hour

// mailboxFull refuses a call.
func (e *entity) mailboxFull(c *call.Call) error {
	e.entities.metrics.Refused.Inc()
	return abi.Errorf(
		abi.CodeMailboxFull, "%d calls of %s wait already, with %d bytes: %q was not accepted", e.waiting, c.Ref,
		e.waitingBytes, c.Operation,
	)
}

// join makes a call a part of another of the same origin.
func (e *entity) join(first, c *call.Call) {
	first.Waiters = append(first.Waiters, c.Waiters...)
	c.Waiters, c.Joined = nil, first
	c.Reply(call.Answer{}) // to let go of its memory; no one is answered
}

// know takes note of a call that waits.
func (e *entity) know(c *call.Call) {
	e.entities.metrics.Queued.Inc()
	if c.Position == 0 {
		e.waiting++
		e.waitingBytes += len(c.Input)
	}
	if c.LeavesReceipt() {
		e.byOrigin[c.Origin] = c
	}
	if c.Position != 0 {
		e.positions[c.Position] = c
	}
}

// unqueue says that a call does not wait any more.
func (e *entity) unqueue(c *call.Call) {
	e.entities.metrics.Queued.Dec()
	if c.Position == 0 {
		e.waiting--
		e.waitingBytes -= len(c.Input)
	}
}

// forget forgets a finished call.
func (e *entity) forget(c *call.Call) {
	if e.byOrigin[c.Origin] == c {
		delete(e.byOrigin, c.Origin)
	}
	if c.Position != 0 {
		delete(e.positions, c.Position)
	}
}

// withdrawn takes out a caller that does not wait any more, and with the last one its call, unless that is at work or
// durable. It makes the reply.
func (e *entity) withdrawn(m withdrawal) bool {
	if m.unless == isAtWork {
		e.tellLocked() // a lock that its step has is not left behind
	}
	c := m.call.Whole()
	i := slices.Index(c.Waiters, m.waiter)
	if i < 0 {
		return true // it has been answered
	}
	accepted := len(c.Waiters) > 1 || c.AtWork || c.Position != 0 || c.Joins
	if accepted && m.unless == isAccepted || c.AtWork && m.unless == isAtWork {
		return true
	}
	c.Waiters = slices.Delete(c.Waiters, i, i+1)
	if accepted {
		return m.unless != isAtWork
	}
	isCall := func(other *call.Call) bool { return other == c }
	e.queue, e.concurrent = slices.DeleteFunc(e.queue, isCall), slices.DeleteFunc(e.concurrent, isCall)
	e.forget(c)
	e.unqueue(c)
	c.Reply(call.Answer{})
	return false
}

// advance begins all that can be begun.
func (e *entity) advance() {
	if e.entities.Host.Over() {
		return
	}
	e.beginFetch()
	e.beginStarts()
	if e.beginLook() {
		e.beginBatch()
	}
	e.beginConcurrent()
	e.holding.Await(e.somethingWaits(), e.entities.now())
}

// begin starts a task and receives its report. It returns false if the host starts no more tasks.
func (e *entity) begin(places *actor.FairQueue[journal.ID], task func() message) bool {
	return places.Go(e.id, func() { e.entities.actors.Post(e.id, task()) })
}

// Park implements actor.Actor: it sets the timer, and finds out whether the entity may be
// forgotten.
func (e *entity) Park() []message {
	if e.looked != nil && len(e.batch)+e.running == 0 && !e.fetching && !e.starting && !e.holding.Looking() {
		e.looked()
		e.looked = nil
	}
	e.idle = false
	due := e.retryAt()
	if e.atRest() {
		// Without a state it keeps nothing that would have to be read again.
		due = e.usedAt + int64(e.idleTime)
		e.idle = e.state.Snapshot() == nil || due <= e.entities.now()
	}
	switch {
	case e.idle && e.timerAt != 0:
		e.entities.timers.Set(e.id, journal.Never)
	case e.idle:
	case due != 0 && (e.timerAt == 0 || due < e.timerAt):
		e.timerAt = due
		e.entities.timers.Set(e.id, due)
	}
	return nil
}

// atRest tells whether nothing waits and nothing is at work.
func (e *entity) atRest() bool {
	return len(e.queue)+len(e.batch)+len(e.concurrent)+len(e.joining)+e.running == 0 && !e.unread && !e.fetching &&
		!e.starts && !e.starting && !e.holding.Looking()
}

// Release implements actor.Actor.
func (e *entity) Release() bool { return e.idle }

// Forgotten implements actor.Actor.
func (e *entity) Forgotten() {
	e.state.Keep(nil)
	e.holding.Forget()
}
