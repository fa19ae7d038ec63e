package mailbox

import (
	"math"
	"slices"
	"time"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/entity/call"
	"github.com/cruster/cruster/host/entity/metrics"
	"github.com/cruster/cruster/journal"
)

// Mailbox has the calls of one entity that are to be performed.
type Mailbox struct {
	metrics *metrics.Metrics
	limits  Limits

	queue      []*call.Call                  // that change the state, in the order in which they will
	concurrent []*call.Call                  // that run beside others
	joining    []*call.Call                  // that wait for the message of their origin to be read
	waiting    int                           // calls that wait for their turn, and are in memory only
	bytes      int                           // of their inputs
	byOrigin   map[journal.Origin]*call.Call // all that have an origin, also those at work
	positions  map[uint64]*call.Call         // all that are in the inbox, also those at work
	recent     recent                        // origins that there are receipts of
	misfits    misfits
	order      order

	unread   bool            // there may be messages that are not in memory
	fetching bool            // a page is being read
	taken    map[uint64]bool // messages that were answered since that reading began
	awaited  int             // calls of joining that were there before then
	barren   bool            // reading the inbox brings nothing before a running task has ended
}

// New makes an empty mailbox, of an entity that stays in memory without calls for a time if its type does not say.
func New(m *metrics.Metrics, idleTime time.Duration) *Mailbox {
	return &Mailbox{
		metrics: m,
		limits: Limits{
			Mailbox: call.DefaultMailbox, Concurrency: call.DefaultConcurrency, IdleTime: idleTime,
		},
		byOrigin:  map[journal.Origin]*call.Call{},
		positions: map[uint64]*call.Call{},
		misfits:   misfits{attempts: map[uint64]int{}},
	}
}

// Limits are the limits of the entity.
func (m *Mailbox) Limits() Limits { return m.limits }

// Arrive takes a call in: it waits from now on, is joined to another of its origin, or is refused. Passes says that the
// run that holds the entity makes it: it needs no room.
func (m *Mailbox) Arrive(c *call.Call, passes bool) {
	if c.Kind == call.Unlock {
		m.know(c)
		m.queue = slices.Insert(m.queue, 0, c)
		return
	}
	m.limits.by(c)
	if first := m.byOrigin[c.Origin]; first != nil {
		join(first, c)
		return
	}
	if c.Joins || c.Position != 0 && m.recent.has(c.Origin) {
		c.Joins = true // the inbox was read meanwhile, and it has been performed
		m.joinLater(c)
		return
	}
	if m.positions[c.Position] != nil {
		join(m.positions[c.Position], c) // the inbox was read meanwhile
		return
	}
	if c.Position == 0 && m.isFull(c) && !passes {
		c.Reply(call.Answer{Err: m.refusal(c)})
		return
	}
	c.After = m.order.after()
	c.Suspect = c.Suspect || m.recent.has(c.Origin)
	m.know(c)
	line := m.lineOf(c)
	*line = append(*line, c)
}

// lineOf is where a call waits.
func (m *Mailbox) lineOf(c *call.Call) *[]*call.Call {
	if c.Kind.Serial() {
		return &m.queue
	}
	return &m.concurrent
}

// isFull tells whether there is no room for a call. One call has room in any case.
func (m *Mailbox) isFull(c *call.Call) bool {
	return m.waiting >= m.limits.Mailbox || m.waiting > 0 && m.bytes+len(c.Input) > maxBytes
}

// refusal is the error of a call that there is no room for.
func (m *Mailbox) refusal(c *call.Call) error {
	m.metrics.Refused.Inc()
	return abi.Errorf(
		abi.CodeMailboxFull, "%d calls of %s wait already, with %d bytes: %q was not accepted", m.waiting, c.Ref,
		m.bytes, c.Operation,
	)
}

// HasRoom tells whether a call that is to be durable may be accepted.
func (m *Mailbox) HasRoom(c *call.Call) error {
	waiting := m.waiting
	for _, other := range m.positions {
		if !other.AtWork {
			waiting++
		}
	}
	if m.byOrigin[c.Origin] == nil && waiting >= c.Mailbox {
		return m.refusal(c)
	}
	return nil
}

// join makes a call a part of another of the same origin.
func join(first, c *call.Call) {
	first.Waiters = append(first.Waiters, c.Waiters...)
	c.Waiters, c.Joined = nil, first
	c.Reply(call.Answer{}) // to let go of its memory; no one is answered
}

// joinLater has a call wait for the message of its origin, which is in the inbox.
func (m *Mailbox) joinLater(c *call.Call) {
	m.joining = append(m.joining, c)
	m.Unread()
}

// Withdraw takes out a caller that does not wait any more, and with the last one its call, unless that is at work or
// durable. It tells whether the call has been accepted; to a caller that waits on if the call has come far, whether it
// does.
func (m *Mailbox) Withdraw(c *call.Call, w *call.Waiter, unless call.Progress) bool {
	c = c.Whole()
	i := slices.Index(c.Waiters, w)
	if i < 0 {
		return true // it has been answered
	}
	accepted := len(c.Waiters) > 1 || c.AtWork || c.Position != 0 || c.Joins
	if accepted && unless == call.IsAccepted || c.AtWork && unless == call.IsAtWork {
		return true
	}
	c.Waiters = slices.Delete(c.Waiters, i, i+1)
	if accepted {
		return unless != call.IsAtWork
	}
	isCall := func(other *call.Call) bool { return other == c }
	m.queue, m.concurrent = slices.DeleteFunc(m.queue, isCall), slices.DeleteFunc(m.concurrent, isCall)
	m.Forget(c)
	m.unqueue(c)
	c.Reply(call.Answer{})
	return false
}

// know takes note of a call that waits.
func (m *Mailbox) know(c *call.Call) {
	m.metrics.Queued.Inc()
	if c.Position == 0 {
		m.waiting++
		m.bytes += len(c.Input)
	}
	if c.LeavesReceipt() {
		m.byOrigin[c.Origin] = c
	}
	if c.Position != 0 {
		m.positions[c.Position] = c
	}
}

// unqueue says that a call does not wait any more.
func (m *Mailbox) unqueue(c *call.Call) {
	m.metrics.Queued.Dec()
	if c.Position == 0 {
		m.waiting--
		m.bytes -= len(c.Input)
	}
}

// Forget forgets a call that has ended. If it is a message and has no answer, the inbox still has it.
func (m *Mailbox) Forget(c *call.Call) {
	if m.byOrigin[c.Origin] == c {
		delete(m.byOrigin, c.Origin)
	}
	if c.Position != 0 {
		delete(m.positions, c.Position)
	}
}

// Answered forgets a call whose outcome is durable, or whose message is parked.
func (m *Mailbox) Answered(c *call.Call, parked bool) {
	m.Forget(c)
	if m.fetching && c.Position != 0 {
		m.taken[c.Position] = true
	}
	if c.LeavesReceipt() && !parked {
		m.recent.add(c.Origin)
	}
	if parked {
		m.Hear(c.Position) // a retry may have put it back already: a page with it was taken for an old one
	}
}

// Hear takes note of a message that is in the inbox; position is 0 if that is not known, or if no one was told of it.
func (m *Mailbox) Hear(position uint64) {
	m.Unread()
	m.order.acknowledged(position)
	if position != 0 && m.positions[position] == nil {
		m.order.missing(position, m.fetching)
	}
}

// Unread says that there may be messages in the inbox that are not in memory, and are worth reading for.
func (m *Mailbox) Unread() { m.unread, m.barren = true, false }

// LookBack says that messages from before the host began may be waiting. Calls come after them, also
// calls that are here already: the entity may come into memory after the end of the recovery that
// told it so.
func (m *Mailbox) LookBack() {
	m.Unread()
	m.order.past = true
	for _, calls := range [][]*call.Call{m.queue, m.concurrent} {
		for _, c := range calls {
			if c.Position == 0 {
				c.After = math.MaxUint64
			}
		}
	}
}
