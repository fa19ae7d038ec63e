package sqlite

import (
	"errors"
	"fmt"

	"zombiezen.com/go/sqlite"

	"github.com/cruster/cruster/journal"
)

// errNoMessage says that a write takes or holds a message that is not there.
var errNoMessage = errors.New("there is no such message")

const (
	selectMessageOf = "SELECT 1 FROM cruster_inbox WHERE shard = ?1 AND id = ?2 AND chain = +?3 AND origin = ?4"
	selectReceiptOf = "SELECT 1 FROM cruster_receipts WHERE shard = ?1 AND id = ?2 AND origin = ?3"
	deleteMessage   = "DELETE FROM cruster_inbox WHERE shard = ?1 AND id = ?2 AND chain = +?3 AND position = ?4 AND " +
		"parked IS NULL RETURNING bytes"
	holdMessage = "UPDATE cruster_inbox SET flags = flags | 2 WHERE shard = ?1 AND id = ?2 AND chain = +?3 AND " +
		"position = ?4 AND parked IS NULL"
	releaseMessages = "UPDATE cruster_inbox SET flags = flags & 1 WHERE shard = ?1 AND id = ?2 AND +chain = ?3 AND " +
		"flags >= 2"
)

// knows tells whether there is a message of the origin, or a receipt.
func (b *batch) knows(receiver journal.Receiver, origin journal.Origin) (known bool, err error) {
	known, err = b.found(selectMessageOf, receiver, origin)
	if known || err != nil {
		return known, err
	}
	return b.found(selectReceiptOf, receiver.ID, origin)
}

// put puts a message into an inbox and tells where it stands. Positions are counted in memory, from above the largest
// that was stored when the store was opened: no other process has the file.
func (b *batch) put(receiver journal.Receiver, m *journal.Message) (uint64, error) {
	b.mail.position++
	position := b.mail.position
	b.mail.changed(receiver, 1, int64(m.Bytes))
	return position, exec(
		b.conn,
		`INSERT INTO cruster_inbox (shard, id, chain, position, origin, kind, name, at, flags, bytes, sender,
			sender_run, step, value)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)`,
		receiver,
		position,
		m.Origin,
		string(m.Kind),
		m.Name,
		m.At,
		flagsOf(m),
		m.Bytes,
		m.From,
		m.Value,
	)
}

// flagsOf returns the flags by which reads tell messages apart.
func flagsOf(m *journal.Message) (flags int64) {
	if m.Repeatable {
		flags |= 1
	}
	if m.Held {
		flags |= 2
	}
	return flags
}

// take takes the messages of a write out of its inbox, and holds others.
func (b *batch) take(w *journal.Write) error {
	to := w.Receiver()
	for _, position := range w.Take {
		if err := b.move(w, deleteMessage, -1, to, position); err != nil {
			return fmt.Errorf("message %d to %s: %w", position, w.ID, err)
		}
	}
	for _, position := range w.Hold {
		err := exec(b.conn, holdMessage, to, position)
		if err == nil && b.conn.Changes() == 0 {
			err = errNoMessage
		}
		if err != nil {
			return fmt.Errorf("message %d to %s: %w", position, w.ID, err)
		}
	}
	return nil
}

// deliver performs the inbox part of a write, and returns the position of the received message.
func (b *batch) deliver(w *journal.Write) (position uint64, err error) {
	if err := b.unpark(w); err != nil {
		return 0, err
	}
	if err := b.take(w); err != nil {
		return 0, err
	}
	if err := b.park(w); err != nil {
		return 0, err
	}
	if w.Receive != nil {
		if position, err = b.put(w.ReceivedBy(), w.Receive); err != nil {
			return 0, err
		}
	}
	b.sentTo = b.sentTo[:0]
	for i := range w.Send {
		sent := &w.Send[i]
		to := w.ReceiverOf(sent)
		known, err := b.knows(to, sent.Origin)
		if err == nil && !known {
			if sent.Kind.Bounded() {
				b.sentTo = append(b.sentTo, to)
			}
			_, err = b.put(to, &sent.Message)
		}
		if err != nil {
			return 0, err
		}
	}
	return position, nil
}

// insertIfRoom is insert for a write that sends much, or to an inbox that has much: it is done, and undone if there is
// too much then.
func (b *batch) insertIfRoom(w *journal.Write) (journal.Result, error) {
	if err := run(b.conn, "SAVEPOINT cruster_send", nil, nil); err != nil {
		return journal.Result{}, err
	}
	result, err := b.insert(w)
	if err != nil {
		return result, err
	}
	for _, receiver := range b.sentTo {
		t, err := b.tally(receiver)
		if err != nil {
			return journal.Result{}, err
		}
		if b.refuses[receiver] || t.messages > journal.MaxSentInbox || t.bytes > journal.MaxSentInboxBytes {
			b.mail.forget()
			if err := run(b.conn, "ROLLBACK TO cruster_send", nil, nil); err != nil {
				return journal.Result{}, err
			}
			result = journal.Result{Err: journal.ErrInboxFull}
			break
		}
	}
	return result, run(b.conn, "RELEASE cruster_send", nil, nil)
}

// countArrival counts a message, and has a running execution loaded.
func (b *batch) countArrival(id journal.ID) error {
	return exec(
		b.conn,
		`UPDATE cruster_executions SET arrivals = arrivals + 1, wake_at = iif(state = 'running', ?3, wake_at)
		WHERE shard = ?1 AND id = ?2 AND superseded = 0`,
		id,
		journal.Now,
	)
}

// selectLastPosition finds the row that was put last: rowids ascend as positions do, and both go on above the largest
// that is there. No index has the positions of all inboxes, and the rows are too many to look at each.
const selectLastPosition = "SELECT position FROM cruster_inbox WHERE rowid = (SELECT max(rowid) FROM cruster_inbox)"

// lastPosition is the largest in any inbox.
func lastPosition(conn *sqlite.Conn) (position uint64, err error) {
	err = run(conn, selectLastPosition, nil, func(row *sqlite.Stmt) error {
		position = uint64(row.ColumnInt64(0))
		return nil
	})
	return position, err
}

func columnCaller(row *sqlite.Stmt, col int) (c journal.Caller) {
	row.ColumnBytes(col, c.ID[:])
	row.ColumnBytes(col+1, c.Run[:])
	row.ColumnBytes(col+2, c.Step[:])
	return c
}
