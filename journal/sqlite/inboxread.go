package sqlite

import (
	"context"
	"fmt"

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
	selectReceipt  = "SELECT at, sender, sender_run, step, error, value, origin FROM cruster_receipts WHERE shard = ?1 AND id = ?2 AND origin = ?3"

	selectMailReceivers = `SELECT i.id FROM cruster_inbox i INDEXED BY cruster_inbox_mail CROSS JOIN cruster_executions e
			ON e.shard = i.shard AND e.id = i.id AND e.superseded = 0
		WHERE i.kind IN ('result', 'interrupt', 'terminate') AND (i.shard, i.id) > (?1, ?2) AND coalesce(e.chain, e.run) = i.chain
			AND (e.state = 'running' OR e.state = 'paused' AND i.kind <> 'result')
		GROUP BY i.shard, i.id ORDER BY i.shard, i.id LIMIT ?3`

	// selectNextReceiver leaps over the other messages of the entity before. Those of executions are not in the index.
	selectNextReceiver = `SELECT id FROM cruster_inbox INDEXED BY cruster_inbox_entities
		WHERE chain = x'' AND parked IS NULL AND (shard, id) >= (?1, ?2) ORDER BY shard, id LIMIT 1`
)

func scanEnvelope(row *sqlite.Stmt) (journal.Envelope, error) {
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
	return e, nil
}

func scanMessage(row *sqlite.Stmt) (journal.Message, error) {
	e, err := scanEnvelope(row)
	return journal.Message{Envelope: e, Value: blob(row, 10)}, err
}

func scanFound(row *sqlite.Stmt) (found journal.FoundMessage, err error) {
	if found.Envelope, err = scanEnvelope(row); err != nil {
		return found, err
	}
	parked, err := packed[journal.ParkedBody](row, 10)
	if parked != nil {
		found.Parked = parked.Reason
	}
	return found, err
}

// Inbox implements journal.Store.
func (s *Store) Inbox(ctx context.Context, to journal.Receiver, after uint64) ([]journal.Envelope, error) {
	return readAll(ctx, s, scanEnvelope, "the inbox of "+to.ID.String(), selectInbox, to, after)
}

// Messages implements journal.Store.
func (s *Store) Messages(ctx context.Context, to journal.Receiver, after uint64, limit journal.PageLimit) (messages []journal.Message, more bool, err error) {
	room := limit.Room()
	err = s.read(ctx, func(conn *sqlite.Conn) error {
		return run(conn, selectMessages, values(to, after), func(row *sqlite.Stmt) error {
			if more = !room.Take(row.ColumnInt(6)); more {
				return errEnough
			}
			m, err := scanMessage(row)
			messages = append(messages, m)
			return err
		})
	})
	if err != nil {
		return nil, false, fmt.Errorf("sqlite: messages to %s: %w", to.ID, err)
	}
	return messages, more, nil
}

// Message implements journal.Store.
func (s *Store) Message(ctx context.Context, to journal.Receiver, position uint64) (*journal.Message, error) {
	return readOne(ctx, s, scanMessage, "a message to "+to.ID.String(), selectMessage, to, position)
}

// FindMessage implements journal.Store.
func (s *Store) FindMessage(ctx context.Context, to journal.Receiver, origin journal.Origin) (*journal.FoundMessage, error) {
	return readOne(ctx, s, scanFound, "a message to "+to.ID.String(), findMessage, to, origin)
}

// Receipt implements journal.Store.
func (s *Store) Receipt(ctx context.Context, id journal.ID, origin journal.Origin) (*journal.Receipt, error) {
	return readOne(ctx, s, scanReceipt, "a receipt of "+id.String(), selectReceipt, id, origin)
}

// Receipts implements journal.Store.
func (s *Store) Receipts(ctx context.Context, id journal.ID, origins []journal.Origin) (found []journal.Receipt, err error) {
	err = s.read(ctx, func(conn *sqlite.Conn) error {
		for _, origin := range origins {
			r, err := selectOne(conn, scanReceipt, selectReceipt, id, origin)
			if err != nil {
				return err
			}
			if r != nil {
				found = append(found, *r)
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("sqlite: receipts of %s: %w", id, err)
	}
	return found, nil
}

func scanReceipt(row *sqlite.Stmt) (journal.Receipt, error) {
	failure, err := packed[abi.Error](row, 4)
	r := journal.Receipt{At: row.ColumnInt64(0), From: columnCaller(row, 1), Error: failure, Value: blob(row, 5)}
	row.ColumnBytes(6, r.Origin[:])
	return r, err
}

// MailReceivers implements journal.Store.
func (s *Store) MailReceivers(ctx context.Context, after journal.ID, limit int) ([]journal.ID, error) {
	return readAll(ctx, s, scanID, "receivers of mail", selectMailReceivers, after, max(limit, 0))
}

// Receivers implements journal.Store.
func (s *Store) Receivers(ctx context.Context, after journal.ID, limit int) (ids []journal.ID, err error) {
	err = s.read(ctx, func(conn *sqlite.Conn) error {
		// The least id behind it: with > SQLite would walk over all messages of that one.
		next := append(after[:], 0)
		for more := true; more && len(ids) < limit; {
			more = false
			err := run(conn, selectNextReceiver, values(int(journal.ID(next[:len(after)]).Shard()), next), func(row *sqlite.Stmt) error {
				id := columnID(row, 0)
				ids, next, more = append(ids, id), append(id[:], 0), true
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
