package entity

import (
	"slices"

	"github.com/cruster/cruster/host/entity/call"
	"github.com/cruster/cruster/host/entity/fault"
	"github.com/cruster/cruster/journal"
)

// # The order of a sender
//
// A call comes behind every message that was acknowledged before it came: a sender that sends, is
// told that the message is durable, and calls, has the two performed in this order. So a call
// knows the highest position that was acknowledged by then (call.Call.After), and the entity up to
// where messages have been in memory (entity.seen). A call may begin if the first is not above the
// second.
//
// Invariant: of the acknowledgements that the entity has heard of, those at a position up to seen
// are of messages that have been in memory.
//
// The naive design takes the last position of a page as seen. That is right where positions become
// visible in their order, as on SQLite. On Postgres a transaction draws positions when it inserts,
// and others see them when it commits: of two in flight, say from a sending entity and from a
// client, the later position may be visible first. A page with position 7 then says nothing about
// position 6. Nor does a gap: a transaction that was rolled back leaves one for ever, so that
// waiting for gaps to close could wait for nothing.
//
// Known are the positions that were acknowledged: the sender's commit returns its position, and the
// entity learns of it before the sender does. So nothing is concluded about positions that no one
// was told of. An acknowledgement at or below seen, of a message that is not in memory, takes seen
// back below it (hear), and the inbox is read again, from its beginning. A read that begins after
// an acknowledgement finds the message, or it was taken; a read that was in flight may have missed
// it, and is worth no more than the positions below it (takeFetched). Transactions in flight are
// few and positions grow, so a call waits for few reads, whatever else is sent meanwhile.
//
// A call that came before such an acknowledgement waits for the same read, without need. It may be
// in front of as many messages as are kept in memory. So that read is not put off for the room
// that they take.

// maxFetched is how many messages may be in memory when more are read.
const maxFetched = call.MaxBatch / 2

// page is a part of an inbox.
type page struct {
	calls  []*call.Call // in order
	bytes  int          // of their messages
	starts bool         // there are workflows to be started
	last   uint64       // position of the last message
	more   bool         // there are others behind it
	acked  uint64       // the highest position that was acknowledged before it was read
}

// hear takes note of a message that is in the inbox; position is 0 if that is not known, or if no
// one was told of it.
func (e *entity) hear(position uint64) {
	e.unread, e.barren = true, false
	e.acked = max(e.acked, position)
	if position == 0 || e.positions[position] != nil {
		return
	}
	if position <= e.seen {
		e.seen, e.overtaken = position-1, true
	}
	if e.fetching && (e.told == 0 || position < e.told) {
		e.told = position
	}
}

// beginFetch has the inbox read, if there may be something in it that can be worked on.
func (e *entity) beginFetch() {
	if !e.unread || e.fetching || e.barren || e.reading.until != 0 || len(e.positions) > maxFetched && !e.overtaken {
		return
	}
	acked := e.acked
	e.taken, e.told, e.awaited, e.overtaken = map[uint64]bool{}, 0, len(e.joining), false
	e.fetching = e.begin(e.entities.working, func() message {
		p, err := e.entities.readInbox(e.id)
		p.acked = acked
		return fetched{p, err}
	})
	e.unread = !e.fetching
}

// readInbox reads the beginning of an inbox. Whatever is taken out is not there any more.
func (x *Entities) readInbox(id journal.ID) (p page, err error) {
	err = fault.Guard(func() error {
		for goOn := true; goOn; {
			var err error
			if goOn, err = x.readMore(id, &p); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		for _, c := range p.calls {
			c.Release()
		}
	}
	return p, err
}

// readMore reads the messages behind a page. It reports whether there is room left in the page:
// workflows to be started take none, so that calls behind any number of them are found.
func (x *Entities) readMore(id journal.ID, p *page) (goOn bool, err error) {
	limit := journal.PageLimit{Entries: call.MaxBatch - len(p.calls), Bytes: call.MaxBatchBytes - p.bytes}
	messages, more, err := x.Store.Messages(x.Host.Context(), journal.Receiver{ID: id}, p.last, limit)
	if err != nil {
		return false, err
	}
	p.more = more
	before := len(p.calls)
	for i := range messages {
		fits, err := x.addTo(p, &messages[i])
		if err != nil {
			return false, err
		}
		if !fits {
			p.more = true
			return false, nil
		}
	}
	starts := len(messages) - (len(p.calls) - before)
	return more && starts > 0 && p.bytes < call.MaxBatchBytes, nil
}

// addTo adds a message to a page. It reports false if there is no memory for it. The first one needs none: an entity
// goes on whatever others have taken.
func (x *Entities) addTo(p *page, m *journal.Message) (fits bool, err error) {
	if m.Kind == journal.StartMessage {
		p.starts, p.last = true, m.Position
		return true, nil
	}
	c, err := call.Of(x.Host.Context(), x.targets, m)
	if err != nil {
		return false, err
	}
	if x.admit(c) != nil && len(p.calls) > 0 {
		return false, nil
	}
	p.calls, p.last, p.bytes = append(p.calls, c), m.Position, p.bytes+m.Bytes
	return true, nil
}

// takeFetched puts messages into the queue. Messages taken out of the inbox during the read may be
// among them.
func (e *entity) takeFetched(m fetched) {
	e.fetching = false
	if m.err != nil {
		e.unread = true
		e.setback(&e.reading, "read the inbox", m.err)
		return
	}
	heard := e.unread // of something else since the reading began
	e.unread = e.unread || m.more
	e.starts = e.starts || m.starts
	added := 0
	for _, c := range m.calls {
		switch {
		case e.taken[c.Position]:
			c.Release()
			added++ // something has become of it
		case e.addMessage(c):
			added++
		}
	}
	e.taken = nil
	if !m.more {
		e.forgetMisfits()
	}
	e.joinFetched(!m.more)
	e.barren = added == 0 && e.unread && !heard
	e.see(&m.page)
}

// see records the facts of a page about the order of positions.
func (e *entity) see(p *page) {
	e.seen = max(e.seen, p.last)
	if !p.more {
		e.seen = max(e.seen, p.acked)
		e.knowPast()
	}
	if e.told != 0 && e.told <= e.seen {
		e.seen, e.overtaken = e.told-1, true
	}
}

// knowPast says that all messages from before the host began are in memory, or were.
func (e *entity) knowPast() {
	if !e.past {
		return
	}
	e.past, e.acked = false, max(e.acked, e.seen)
	for _, calls := range [][]*call.Call{e.queue, e.concurrent} {
		for _, c := range calls {
			c.After = min(c.After, e.acked)
		}
	}
}

// adopt makes a call that waits in memory the one of its message, which is in the inbox. It takes the place of
// that: messages are in the order of their positions.
func (e *entity) adopt(c, m *call.Call) {
	e.waiting--
	e.waitingBytes -= len(c.Input)
	c.Position, c.ReplyTo = m.Position, m.ReplyTo
	e.positions[c.Position] = c
	waiting := &e.queue
	if !c.Kind.Serial() {
		waiting = &e.concurrent
	}
	*waiting = call.InsertMessage(slices.DeleteFunc(*waiting, func(other *call.Call) bool { return other == c }), c)
}

// addMessage adds a call that is in the inbox. It reports false if it was there already, or has to wait for the end of
// one of the same origin.
func (e *entity) addMessage(c *call.Call) bool {
	if e.positions[c.Position] != nil {
		c.Release()
		return false
	}
	if first := e.byOrigin[c.Origin]; first != nil {
		c.Release()
		if first.AtWork || first.Position != 0 {
			e.unread = true
			return false
		}
		e.adopt(first, c)
		return true
	}
	if c.Damaged == nil {
		e.limitBy(c)
	}
	c.Suspect = e.recent.has(c.Origin)
	e.know(c)
	if c.Kind.Serial() {
		e.queue = call.InsertMessage(e.queue, c)
	} else {
		e.concurrent = call.InsertMessage(e.concurrent, c)
	}
	return true
}
