package sqlite

import (
	"zombiezen.com/go/sqlite"

	"github.com/cruster/cruster/journal"
)

// mail is the store's memory of inboxes. It belongs to the user of the writer: all changes of an
// inbox go through that one handle of the one process that has the file.
type mail struct {
	position uint64 // of the message that was sent last
	// tallies of inboxes that hold many messages, so that they are not counted for each received
	// one. Any rollback makes the store forget them all.
	tallies map[journal.Receiver]tally
}

// tally is how much there is in an inbox.
type tally struct {
	messages, bytes int64
	more            bool // there may be more than that
}

const (
	// worthKeeping is how many messages an inbox has at least whose tally is kept.
	worthKeeping = 100
	// maxTallies is how many are kept.
	maxTallies = 1000
	// mostCounted is how many messages are counted.
	mostCounted = journal.MaxSentInbox + 1
)

const selectTally = "SELECT count(*), coalesce(sum(bytes), 0) FROM (SELECT bytes FROM cruster_inbox WHERE shard = ?1 " +
	"AND id = ?2 AND chain = +?3 AND parked IS NULL LIMIT +?4)"

func (m *mail) forget() { clear(m.tallies) }

// full tells whether there is no room for a message to be received.
func (b *batch) full(receiver journal.Receiver, m *journal.Message) (bool, error) {
	limit, bounded := m.Kind.Limit()
	if !bounded {
		return false, nil
	}
	t, err := b.tally(receiver)
	if err != nil || limit.Exceeded(t.messages, t.bytes, m.Bytes) {
		return true, err
	}
	return b.parkedFull(receiver)
}

// crowded reports whether the messages sent by a write may overfill an inbox, or go to an inbox that
// takes no more because of its parked ones.
func (b *batch) crowded(w *journal.Write) (crowded bool, err error) {
	clear(b.refuses)
	bytes := int64(0)
	for i := range w.Send {
		bytes += int64(w.Send[i].Bytes)
	}
	for i := range w.Send {
		to := w.ReceiverOf(&w.Send[i])
		if !w.Send[i].Kind.Bounded() || i > 0 && w.Send[i-1].Kind.Bounded() && to == w.ReceiverOf(&w.Send[i-1]) {
			continue
		}
		t, err := b.tally(to)
		if err == nil &&
			(t.messages+int64(len(w.Send)) > journal.MaxSentInbox || t.bytes+bytes > journal.MaxSentInboxBytes) {
			crowded = true
		}
		if err == nil {
			b.refuses[to], err = b.parkedFull(to)
		}
		if err != nil {
			return false, err
		}
		crowded = crowded || b.refuses[to]
	}
	return crowded, nil
}

func (b *batch) tally(receiver journal.Receiver) (tally, error) {
	if t, kept := b.mail.tallies[receiver]; kept {
		return t, nil
	}
	t, err := count(b.conn, receiver)
	if err == nil {
		b.mail.keep(receiver, t)
	}
	return t, err
}

func count(conn *sqlite.Conn, receiver journal.Receiver) (t tally, err error) {
	err = run(conn, selectTally, values(receiver, mostCounted), func(row *sqlite.Stmt) error {
		t = tally{row.ColumnInt64(0), row.ColumnInt64(1), row.ColumnInt64(0) == mostCounted}
		return nil
	})
	return t, err
}

func (m *mail) keep(receiver journal.Receiver, t tally) {
	if t.messages < worthKeeping || t.more && t.messages < journal.MaxInbox {
		delete(m.tallies, receiver)
		return
	}
	if len(m.tallies) >= maxTallies {
		m.forget()
	}
	if m.tallies == nil {
		m.tallies = map[journal.Receiver]tally{}
	}
	m.tallies[receiver] = t
}

// changed notes that so much was put into an inbox, or taken out of it.
func (m *mail) changed(receiver journal.Receiver, messages, bytes int64) {
	if t, kept := m.tallies[receiver]; kept {
		m.keep(receiver, tally{t.messages + messages, t.bytes + bytes, t.more})
	}
}
