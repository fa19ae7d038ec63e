package entity

import (
	"fmt"
	"math"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// maxFetched is how many messages may be in memory when more are read.
const maxFetched = maxBatch / 2

// page is a part of an inbox.
type page struct {
	calls  []*call // in order
	starts bool    // there are workflows to be started
	last   uint64  // position of the last message
	more   bool    // there are others behind it
	upTo   uint64  // what was acknowledged before it was read
}

// beginFetch has the inbox read, if there may be something in it that can be worked on.
func (e *entity) beginFetch() {
	if !e.unread || e.fetching || e.barren || e.reading.until != 0 || len(e.positions) > maxFetched {
		return
	}
	upTo := e.acked
	e.taken = map[uint64]bool{}
	e.fetching = e.begin(e.working, func() message {
		p, err := e.readInbox(e.id)
		p.upTo = upTo
		return fetched{p, err}
	})
	e.unread = !e.fetching
}

// readInbox reads the beginning of an inbox. Whatever is taken out is not there any more.
func (x *Entities) readInbox(id journal.ID) (p page, err error) {
	err = guarded(func() error {
		messages, more, err := x.Store.Messages(x.Host.Context(), journal.Receiver{ID: id}, 0, journal.PageLimit{Entries: maxBatch, Bytes: maxBatchBytes})
		if err != nil {
			return err
		}
		p.more = more
		for i := range messages {
			fits, err := x.addTo(&p, &messages[i])
			if err != nil {
				return err
			}
			if !fits {
				p.more = true
				break
			}
		}
		return nil
	})
	if err != nil {
		for _, c := range p.calls {
			c.release()
		}
	}
	return p, err
}

// addTo adds a message to a page. It reports false if there is no memory for it. The first
// one needs none: an entity goes on whatever others have taken.
func (x *Entities) addTo(p *page, m *journal.Message) (fits bool, err error) {
	if m.Kind == journal.StartMessage {
		p.starts, p.last = true, m.Position
		return true, nil
	}
	c, err := x.callOf(m)
	if err != nil {
		return false, err
	}
	if x.admit(c) != nil && len(p.calls) > 0 {
		return false, nil
	}
	p.calls, p.last = append(p.calls, c), m.Position
	return true, nil
}

// callOf makes a call of a message. One that does not decode is a call that fails.
func (x *Entities) callOf(m *journal.Message) (*call, error) {
	c := &call{operation: m.Name}
	defer func() {
		c.from, c.message, c.position = m.From, m.Origin, m.Position
		if m.Repeatable {
			c.origin = m.Origin
		}
	}()
	p, damaged := abi.DecodeAs[parcel](m.Value)
	if damaged == nil && m.Kind != journal.CallMessage {
		damaged = abi.Errorf(abi.CodeInternal, "a message of kind %q is not for entities", m.Kind)
	}
	if damaged != nil {
		c.damaged = damaged
		return c, nil
	}
	ref, err := p.ref()
	if err != nil {
		c.damaged = abi.AsError(err)
		return c, nil
	}
	t, err := x.target(x.Host.Context(), ref)
	if err != nil {
		return nil, fmt.Errorf("find the code of %s: %w", ref, err)
	}
	c = t.call(&abi.OperationInfo{Name: m.Name, Persisted: true})
	c.input = p.Input
	return c, nil
}

// takeFetched puts messages into the queue. Those that were taken out of the inbox while it was
// read may be among them.
func (e *entity) takeFetched(m fetched) {
	e.fetching = false
	if m.err != nil {
		e.unread = true
		e.setback(&e.reading, "read the inbox", m.err)
		return
	}
	e.unread = e.unread || m.more
	e.starts = e.starts || m.starts
	added := 0
	for _, c := range m.calls {
		switch {
		case e.taken[c.position]:
			c.release()
			added++ // something has become of it
		case e.addMessage(c):
			added++
		}
	}
	e.taken = nil
	e.joinFetched(!m.more)
	e.barren = added == 0 && e.unread
	e.seen = max(e.seen, m.last)
	switch {
	case m.more || e.unread && m.upTo == math.MaxUint64:
	case m.upTo == math.MaxUint64:
		e.knowPast()
	default:
		e.seen = max(e.seen, m.upTo)
	}
}

// knowPast says that all messages from before the host began are in memory.
func (e *entity) knowPast() {
	e.acked = e.seen
	for _, calls := range [][]*call{e.queue, e.beside} {
		for _, c := range calls {
			c.after = min(c.after, e.seen)
		}
	}
}

// addMessage adds a call that is in the inbox. It reports false if it was there already, or
// has to wait for the end of one of the same origin.
func (e *entity) addMessage(c *call) bool {
	if e.positions[c.position] != nil {
		c.release()
		return false
	}
	if first := e.byOrigin[c.origin]; first != nil {
		c.release()
		if first.atWork || first.position != 0 {
			e.unread = true
			return false
		}
		first.position = c.position
		e.positions[c.position] = first
		e.waiting--
		return true
	}
	if c.damaged == nil {
		e.limitBy(c)
	}
	c.suspect = e.recent.has(c.origin)
	e.know(c)
	if c.kind.serial() {
		e.queue = insertMessage(e.queue, c)
	} else {
		e.beside = insertMessage(e.beside, c)
	}
	return true
}
