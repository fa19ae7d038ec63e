package sqlite

import (
	"context"
	"fmt"
	"math"

	"zombiezen.com/go/sqlite"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

const (
	envelopeColumns = "position, origin, kind, name, at, flags, bytes, sender, sender_run, step"
	messageColumns  = envelopeColumns + ", value"

	selectInbox    = "SELECT " + envelopeColumns + " FROM cruster_inbox WHERE shard = ?1 AND id = ?2 AND chain = ?3 AND position > ?4 AND parked IS NULL ORDER BY position"
	selectMessages = "SELECT " + messageColumns + " FROM cruster_inbox WHERE shard = ?1 AND id = ?2 AND chain = ?3 AND position > ?4 AND parked IS NULL ORDER BY position"
	selectMessage  = "SELECT " + messageColumns + " FROM cruster_inbox WHERE shard = ?1 AND id = ?2 AND chain = ?3 AND position = ?4 AND parked IS NULL"
	findMessage    = "SELECT " + envelopeColumns + ", parked FROM cruster_inbox WHERE shard = ?1 AND id = ?2 AND chain = ?3 AND origin = ?4"
	selectReceipt  = "SELECT at, sender, sender_run, step, error, value FROM cruster_receipts WHERE shard = ?1 AND id = ?2 AND origin = ?3"

	selectMailReceivers = `SELECT i.id FROM cruster_inbox i INDEXED BY cruster_inbox_mail CROSS JOIN cruster_executions e
			ON e.shard = i.shard AND e.id = i.id AND e.superseded = 0
		WHERE i.kind IN ('result', 'interrupt', 'terminate') AND (i.shard, i.id) > (?1, ?2) AND coalesce(e.chain, e.run) = i.chain
			AND (e.state = 'running' OR e.state = 'paused' AND i.kind <> 'result')
		GROUP BY i.shard, i.id ORDER BY i.shard, i.id LIMIT ?3`

	// selectNextReceiver leaps over the other messages of the one before. It tells of an entity whether
	// one of its messages is not parked.
	selectNextReceiver = `SELECT id, chain = x'' AND EXISTS (
			SELECT 1 FROM cruster_inbox i WHERE i.shard = n.shard AND i.id = n.id AND i.chain = x'' AND i.parked IS NULL)
		FROM cruster_inbox n WHERE (shard, id) >= (?1, ?2) ORDER BY shard, id LIMIT 1`
)

func scanEnvelope(row *sqlite.Stmt) journal.Envelope {
	e := journal.Envelope{
		Position:   uint64(row.ColumnInt64(0)),
		Kind:       journal.MessageKind(row.ColumnText(2)),
		Name:       row.ColumnText(3),
		At:         row.ColumnInt64(4),
		Repeatable: row.ColumnInt(5)&1 != 0,
		Held:       row.ColumnInt(5)&2 != 0,
		Bytes:      row.ColumnInt(6),
		From:       columnCaller(row, 7),
	}
	row.ColumnBytes(1, e.Origin[:])
	return e
}

func scanMessage(row *sqlite.Stmt) journal.Message {
	return journal.Message{Envelope: scanEnvelope(row), Value: blob(row, 10)}
}

// bindReceiver binds a receiver to the first three parameters.
func bindReceiver(stmt *sqlite.Stmt, to journal.Receiver) {
	bindID(stmt, 1, 2, to.ID)
	bindChain(stmt, 3, to)
}

// bindPlace binds a place in the inbox of a receiver to the first four parameters.
func bindPlace(stmt *sqlite.Stmt, to journal.Receiver, position uint64) {
	bindReceiver(stmt, to)
	stmt.BindInt64(4, int64(min(position, math.MaxInt64)))
}

// Inbox implements journal.Store.
func (s *Store) Inbox(ctx context.Context, to journal.Receiver, after uint64) (found []journal.Envelope, err error) {
	err = s.read(ctx, func(conn *sqlite.Conn) error {
		return run(conn, selectInbox, func(stmt *sqlite.Stmt) { bindPlace(stmt, to, after) }, func(row *sqlite.Stmt) error {
			found = append(found, scanEnvelope(row))
			return nil
		})
	})
	if err != nil {
		return nil, fmt.Errorf("sqlite: inbox of %s: %w", to.ID, err)
	}
	return found, nil
}

// Messages implements journal.Store.
func (s *Store) Messages(ctx context.Context, to journal.Receiver, after uint64, limit journal.PageLimit) (messages []journal.Message, more bool, err error) {
	room := limit.Room()
	err = s.read(ctx, func(conn *sqlite.Conn) error {
		return run(conn, selectMessages, func(stmt *sqlite.Stmt) { bindPlace(stmt, to, after) }, func(row *sqlite.Stmt) error {
			if more = !room.Take(row.ColumnInt(6)); more {
				return errEnough
			}
			messages = append(messages, scanMessage(row))
			return nil
		})
	})
	if err != nil {
		return nil, false, fmt.Errorf("sqlite: messages to %s: %w", to.ID, err)
	}
	return messages, more, nil
}

// Message implements journal.Store.
func (s *Store) Message(ctx context.Context, to journal.Receiver, position uint64) (found *journal.Message, err error) {
	err = s.read(ctx, func(conn *sqlite.Conn) error {
		return run(conn, selectMessage, func(stmt *sqlite.Stmt) { bindPlace(stmt, to, position) }, func(row *sqlite.Stmt) error {
			m := scanMessage(row)
			found = &m
			return nil
		})
	})
	if err == nil && found == nil {
		err = journal.ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("sqlite: message %d to %s: %w", position, to.ID, err)
	}
	return found, nil
}

// FindMessage implements journal.Store.
func (s *Store) FindMessage(ctx context.Context, to journal.Receiver, origin journal.Origin) (found *journal.FoundMessage, err error) {
	err = s.read(ctx, func(conn *sqlite.Conn) error {
		return run(conn, findMessage, func(stmt *sqlite.Stmt) {
			bindReceiver(stmt, to)
			stmt.BindBytes(4, origin[:])
		}, func(row *sqlite.Stmt) error {
			found = &journal.FoundMessage{Envelope: scanEnvelope(row)}
			parked, err := packed[journal.ParkedBody](row, 10)
			if parked != nil {
				found.Parked = parked.Reason
			}
			return err
		})
	})
	if err == nil && found == nil {
		err = journal.ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("sqlite: message %x to %s: %w", origin, to.ID, err)
	}
	return found, nil
}

// Receipt implements journal.Store.
func (s *Store) Receipt(ctx context.Context, id journal.ID, origin journal.Origin) (*journal.Receipt, error) {
	found, err := s.Receipts(ctx, id, []journal.Origin{origin})
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("sqlite: receipt %x of %s: %w", origin, id, journal.ErrNotFound)
	}
	if err != nil {
		return nil, err
	}
	return &found[0], nil
}

// Receipts implements journal.Store.
func (s *Store) Receipts(ctx context.Context, id journal.ID, origins []journal.Origin) (found []journal.Receipt, err error) {
	err = s.read(ctx, func(conn *sqlite.Conn) error {
		for _, origin := range origins {
			err := run(conn, selectReceipt, func(stmt *sqlite.Stmt) {
				bindID(stmt, 1, 2, id)
				stmt.BindBytes(3, origin[:])
			}, func(row *sqlite.Stmt) error {
				failure, err := packed[abi.Error](row, 4)
				found = append(found, journal.Receipt{Origin: origin, At: row.ColumnInt64(0), From: columnCaller(row, 1), Error: failure, Value: blob(row, 5)})
				return err
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("sqlite: receipts of %s: %w", id, err)
	}
	return found, nil
}

// MailReceivers implements journal.Store.
func (s *Store) MailReceivers(ctx context.Context, after journal.ID, limit int) (ids []journal.ID, err error) {
	err = s.read(ctx, func(conn *sqlite.Conn) error {
		return run(conn, selectMailReceivers, func(stmt *sqlite.Stmt) {
			bindID(stmt, 1, 2, after)
			stmt.BindInt64(3, int64(max(limit, 0)))
		}, func(row *sqlite.Stmt) error {
			ids = append(ids, columnID(row, 0))
			return nil
		})
	})
	if err != nil {
		return nil, fmt.Errorf("sqlite: receivers of mail: %w", err)
	}
	return ids, nil
}

// Receivers implements journal.Store.
func (s *Store) Receivers(ctx context.Context, after journal.ID, limit int) (ids []journal.ID, err error) {
	err = s.read(ctx, func(conn *sqlite.Conn) error {
		// The least id behind it: with > SQLite would walk over all messages of that one.
		next := append(after[:], 0)
		for more := true; more && len(ids) < limit; {
			more = false
			err := run(conn, selectNextReceiver, func(stmt *sqlite.Stmt) {
				stmt.BindInt64(1, int64(journal.ID(next[:len(after)]).Shard()))
				stmt.BindBytes(2, next)
			}, func(row *sqlite.Stmt) error {
				id := columnID(row, 0)
				next, more = append(id[:], 0), true
				if row.ColumnBool(1) {
					ids = append(ids, id)
				}
				return nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("sqlite: receivers: %w", err)
	}
	return ids, nil
}
