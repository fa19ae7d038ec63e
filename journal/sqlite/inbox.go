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
	selectMessageOf = "SELECT 1 FROM cruster_inbox WHERE shard = ?1 AND id = ?2 AND chain = ?3 AND origin = ?4"
	selectReceiptOf = "SELECT 1 FROM cruster_receipts WHERE shard = ?1 AND id = ?2 AND origin = ?4"
	deleteMessage   = "DELETE FROM cruster_inbox WHERE shard = ?1 AND id = ?2 AND chain = ?3 AND position = ?4 AND parked IS NULL RETURNING bytes"
	holdMessage     = "UPDATE cruster_inbox SET flags = flags | 2 WHERE shard = ?1 AND id = ?2 AND chain = ?3 AND position = ?4 AND parked IS NULL"
	releaseMessages = "UPDATE cruster_inbox SET flags = flags & 1 WHERE shard = ?1 AND id = ?2 AND +chain = ?3 AND flags >= 2"
)

// knows tells whether there is a message of the origin, or a receipt.
func (b *batch) knows(receiver journal.Receiver, origin journal.Origin) (known bool, err error) {
	known, err = b.found(selectMessageOf, func(stmt *sqlite.Stmt) {
		bindReceiver(stmt, receiver)
		stmt.BindBytes(4, origin[:])
	})
	if known || err != nil {
		return known, err
	}
	return b.found(selectReceiptOf, func(stmt *sqlite.Stmt) {
		bindID(stmt, 1, 2, receiver.ID)
		stmt.BindBytes(4, origin[:])
	})
}

// put puts a message into an inbox and tells where it stands. Positions are counted in
// memory, from above the largest that was stored when the store was opened: no other
// process has the file.
func (b *batch) put(receiver journal.Receiver, m *journal.Message) (uint64, error) {
	b.mail.position++
	position := b.mail.position
	b.mail.changed(receiver, 1, int64(m.Bytes))
	return position, run(b.conn, `INSERT INTO cruster_inbox (shard, id, chain, position, origin, kind, name, at, flags, bytes, sender, sender_run, step, value)
		VALUES (?1, ?2, ?3, ?14, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)`, func(stmt *sqlite.Stmt) {
		bindReceiver(stmt, receiver)
		stmt.BindInt64(14, int64(position))
		stmt.BindBytes(4, m.Origin[:])
		stmt.BindText(5, string(m.Kind))
		stmt.BindText(6, m.Name)
		stmt.BindInt64(7, m.At)
		stmt.BindInt64(8, flagsOf(m))
		stmt.BindInt64(9, int64(m.Bytes))
		bindCaller(stmt, 10, m.From)
		bindBlob(stmt, 13, m.Value)
	}, nil)
}

// flagsOf is what scanEnvelope reads as two.
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
		taken := false
		err := run(b.conn, deleteMessage, func(stmt *sqlite.Stmt) { bindPlace(stmt, to, position) }, func(row *sqlite.Stmt) error {
			b.mail.changed(to, -1, -row.ColumnInt64(0))
			taken = true
			return nil
		})
		if err == nil && !taken {
			err = errNoMessage
		}
		if err != nil {
			return fmt.Errorf("message %d to %s: %w", position, w.ID, err)
		}
	}
	for _, position := range w.Hold {
		err := run(b.conn, holdMessage, func(stmt *sqlite.Stmt) { bindPlace(stmt, to, position) }, nil)
		if err == nil && b.conn.Changes() == 0 {
			err = errNoMessage
		}
		if err != nil {
			return fmt.Errorf("message %d to %s: %w", position, w.ID, err)
		}
	}
	return nil
}

// deliver does what a write says about inboxes, and tells where the message that it
// receives stands.
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
		if position, err = b.put(w.Receiver(), w.Receive); err != nil {
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

// insertIfRoom is insert for a write that sends much, or to an inbox that has much: it is
// done, and undone if there is too much then.
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

// wake has a running execution loaded.
func (b *batch) wake(id journal.ID) error {
	return run(b.conn, `UPDATE cruster_executions SET wake_at = ?3
		WHERE shard = ?1 AND id = ?2 AND superseded = 0 AND state = 'running' AND wake_at <> ?3`, func(stmt *sqlite.Stmt) {
		bindID(stmt, 1, 2, id)
		stmt.BindInt64(3, journal.Now)
	}, nil)
}

// lastPosition is the largest in any inbox.
func lastPosition(conn *sqlite.Conn) (position uint64, err error) {
	err = run(conn, "SELECT coalesce(max(position), 0) FROM cruster_inbox", nil, func(row *sqlite.Stmt) error {
		position = uint64(row.ColumnInt64(0))
		return nil
	})
	return position, err
}

// bindCaller binds a step to three parameters, NULL if there is none.
func bindCaller(stmt *sqlite.Stmt, param int, c journal.Caller) {
	if c.IsZero() {
		for i := range 3 {
			stmt.BindNull(param + i)
		}
		return
	}
	stmt.BindBytes(param, c.ID[:])
	stmt.BindBytes(param+1, c.Run[:])
	stmt.BindBytes(param+2, c.Step[:])
}

func columnCaller(row *sqlite.Stmt, col int) (c journal.Caller) {
	row.ColumnBytes(col, c.ID[:])
	row.ColumnBytes(col+1, c.Run[:])
	row.ColumnBytes(col+2, c.Step[:])
	return c
}
