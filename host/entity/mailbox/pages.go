package mailbox

import (
	"slices"

	"github.com/cruster/cruster/host/entity/call"
)

// maxFetched is how many messages may be in memory when more are read.
const maxFetched = call.MaxBatch / 2

// WantsPage tells whether the inbox is to be read: there may be something in it that can be worked on.
func (m *Mailbox) WantsPage() bool {
	return m.unread && !m.fetching && !m.barren && (len(m.positions) <= maxFetched || m.order.overtaken)
}

// BeginPage begins the reading of a page. It returns the highest position that was acknowledged by now.
func (m *Mailbox) BeginPage() (acked uint64) {
	m.taken, m.awaited = map[uint64]bool{}, len(m.joining)
	m.order.beginReading()
	m.fetching, m.unread = true, false
	return m.order.acked
}

// PageFailed says that no page comes of the reading that was begun.
func (m *Mailbox) PageFailed() { m.fetching, m.unread = false, true }

// Fetching tells whether a page is being read.
func (m *Mailbox) Fetching() bool { return m.fetching }

// TaskEnded says that a task has ended: the inbox may be worth reading again.
func (m *Mailbox) TaskEnded() { m.barren = false }

// TakePage puts messages into the order. Messages taken out of the inbox during the read may be among them.
func (m *Mailbox) TakePage(p *Page) {
	m.fetching = false
	heard := m.unread // of something else since the reading began
	m.unread = m.unread || p.More
	added := 0
	for _, c := range p.Calls {
		switch {
		case m.taken[c.Position]:
			c.Release()
			added++ // something has become of it
		case m.add(c):
			added++
		}
	}
	m.taken = nil
	if !p.More {
		m.misfits.keep(m.positions)
	}
	m.joinRead(!p.More)
	m.barren = added == 0 && m.unread && !heard
	if m.order.see(p) {
		for _, calls := range [][]*call.Call{m.queue, m.concurrent} {
			for _, c := range calls {
				c.After = min(c.After, m.order.acked)
			}
		}
	}
}

// add adds a call that is in the inbox. It reports false if it was there already, or has to wait for the end of one of
// the same origin.
func (m *Mailbox) add(c *call.Call) bool {
	if m.positions[c.Position] != nil {
		c.Release()
		return false
	}
	if first := m.byOrigin[c.Origin]; first != nil {
		c.Release()
		if first.AtWork || first.Position != 0 {
			m.unread = true
			return false
		}
		m.adopt(first, c)
		return true
	}
	if c.Damaged == nil {
		m.limits.by(c)
	}
	c.Suspect = m.recent.has(c.Origin)
	m.know(c)
	line := m.lineOf(c)
	*line = call.InsertMessage(*line, c)
	return true
}

// adopt makes a call that waits in memory the one of its message, which is in the inbox. It takes the place of that:
// messages are in the order of their positions.
func (m *Mailbox) adopt(c, message *call.Call) {
	m.waiting--
	m.bytes -= len(c.Input)
	c.Position, c.ReplyTo = message.Position, message.ReplyTo
	m.positions[c.Position] = c
	line := m.lineOf(c)
	*line = call.InsertMessage(slices.DeleteFunc(*line, func(other *call.Call) bool { return other == c }), c)
}

// joinRead joins calls to the messages of their origins. All tells that the whole inbox was read: those whose
// message is not there have a receipt, if they came before the reading began. The message of a later one may have come
// meanwhile.
func (m *Mailbox) joinRead(all bool) {
	waiting := m.joining
	m.joining = nil
	for i, c := range waiting {
		switch first := m.byOrigin[c.Origin]; {
		case first != nil:
			join(first, c)
		case all && i < m.awaited:
			c.Reply(call.Answer{Err: call.ErrTaken})
		default:
			m.joining = append(m.joining, c)
		}
	}
}
