package mailbox

import (
	"slices"

	"github.com/cruster/cruster/host/entity/call"
	"github.com/cruster/cruster/host/entity/lock"
)

// TakeBatch takes the next calls out of the queue that are performed together.
func (m *Mailbox) TakeBatch() (next []*call.Call) {
	n := m.misfits.cut(m.queue[:call.CutBatch(m.queue, m.order.seen)])
	next, m.queue = m.queue[:n:n], m.queue[n:]
	m.begin(next)
	return next
}

// TakePassing takes the next calls out of the queue that may pass by the others.
func (m *Mailbox) TakePassing(passes func(*call.Call) bool) (next []*call.Call) {
	next, m.queue = call.TakePassing(m.queue, passes)
	m.begin(next)
	return next
}

// begin says that calls of a batch do not wait any more.
func (m *Mailbox) begin(batch []*call.Call) {
	for _, c := range batch {
		c.Misfits = m.misfits.attempts[c.Position]
		m.unqueue(c)
	}
}

// Concurrent are the calls that wait to run beside others.
func (m *Mailbox) Concurrent() []*call.Call { return m.concurrent }

// TakeConcurrent takes the call at an index of those out.
func (m *Mailbox) TakeConcurrent(i int) {
	c := m.concurrent[i]
	m.concurrent = slices.Delete(m.concurrent, i, i+1)
	m.unqueue(c)
}

// InTurn reports whether the calls ahead of a concurrent call have got far enough: a read sees the messages that were
// acknowledged before it came, and other calls come behind them.
func (m *Mailbox) InTurn(c *call.Call) bool {
	if c.Kind == call.Read {
		for position := range m.positions {
			if position <= c.After {
				return false
			}
		}
	}
	return c.After <= m.order.seen
}

// PutBack puts calls of a batch back into the queue, where they were, each to have a batch of its own if they are to be
// apart.
func (m *Mailbox) PutBack(calls []*call.Call, apart bool) {
	for _, c := range calls {
		c.AtWork, c.Apart = false, c.Apart || apart
		m.know(c)
	}
	m.queue = slices.Concat(calls, m.queue)
}

// PutBackConcurrent has a message that ran beside others tried again, before the others.
func (m *Mailbox) PutBackConcurrent(c *call.Call) {
	c.AtWork = false
	m.metrics.Queued.Inc()
	m.concurrent = slices.Insert(m.concurrent, 0, c)
}

// GoBack has the inbox read again from a message on that was not performed. It takes out the messages behind it, which
// would overtake it.
func (m *Mailbox) GoBack(position uint64) (behind []*call.Call) {
	m.unread = true
	m.order.goBack(position)
	m.queue, behind = m.without(m.queue, func(c *call.Call) bool { return c.Position > position })
	return behind
}

// TakeOut takes calls out that wait.
func (m *Mailbox) TakeOut(match func(*call.Call) bool) []*call.Call {
	var queued, concurrent []*call.Call
	m.queue, queued = m.without(m.queue, match)
	m.concurrent, concurrent = m.without(m.concurrent, match)
	return append(queued, concurrent...)
}

// without takes calls out of a line.
func (m *Mailbox) without(line []*call.Call, match func(*call.Call) bool) (rest, out []*call.Call) {
	rest = slices.DeleteFunc(line, func(c *call.Call) bool {
		if !match(c) {
			return false
		}
		m.unqueue(c)
		out = append(out, c)
		return true
	})
	return rest, out
}

// CountAttempts counts the attempts of the messages of a batch that have no answer. Misfit says that the reason does
// not pass, and fault that the host has failed.
func (m *Mailbox) CountAttempts(calls []*call.Call, answers map[*call.Call]call.Answer, misfit, fault bool) {
	m.misfits.count(calls, answers, misfit, fault)
}

// MindsLock tells whether a call waits that a lock may keep from being begun.
func (m *Mailbox) MindsLock() bool {
	return len(m.queue) > 0 ||
		slices.ContainsFunc(m.concurrent, func(c *call.Call) bool { return c.Kind != call.Stateless })
}

// IsEmpty tells whether no call waits, and the inbox has none that could.
func (m *Mailbox) IsEmpty() bool {
	return len(m.queue)+len(m.concurrent)+len(m.joining) == 0 && !m.unread && !m.fetching
}

// Size counts the calls that wait for their turn and are in memory only, and all messages of the inbox that are in
// memory.
func (m *Mailbox) Size() (waiting, messages int) { return m.waiting, len(m.positions) }

// Waiters lists the callers that wait for the entity.
func (m *Mailbox) Waiters() (w lock.Waiters) {
	for _, calls := range [][]*call.Call{m.queue, m.concurrent} {
		w.Total += len(calls)
		for _, c := range calls {
			if len(w.First) < lock.MaxWaiters {
				w.First = append(w.First, lock.Waiter{From: c.From, Operation: c.Operation, Since: c.Since})
			}
		}
	}
	return w
}
