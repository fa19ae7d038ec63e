package sqlite

import (
	"context"
	"errors"
	"fmt"

	"zombiezen.com/go/sqlite"

	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/journal/sqlread"
)

var selectMessages = "SELECT " + reads.MessageColumns + ` FROM cruster_inbox
	WHERE shard = ?1 AND id = ?2 AND chain = +?3 AND position > ?4 AND parked IS NULL ORDER BY position`

const (
	selectMailReceivers = `SELECT i.id FROM cruster_inbox i INDEXED BY cruster_inbox_mail CROSS
		JOIN cruster_executions e
			ON e.shard = i.shard AND e.id = i.id AND e.superseded = 0
		WHERE i.kind IN ('result', 'interrupt', 'terminate') AND (i.shard, i.id) > (?1, ?2)
			AND coalesce(e.chain, e.run) = i.chain
			AND (e.state = 'running' OR e.state = 'paused' AND i.kind <> 'result')
		GROUP BY i.shard, i.id ORDER BY i.shard, i.id LIMIT +?3`

	// selectNextReceiver leaps over the other messages of the entity before. Messages of executions are not in the
	// index.
	selectNextReceiver = `SELECT id FROM cruster_inbox INDEXED BY cruster_inbox_entities
		WHERE chain = x'' AND parked IS NULL AND (shard, id) >= (?1, ?2) ORDER BY shard, id LIMIT 1`
)

// Messages implements journal.Store.
func (s *Store) Messages(
	ctx context.Context, to journal.Receiver, after uint64, limit journal.PageLimit,
) (messages []journal.Message, more bool, err error) {
	room := limit.Room()
	err = s.read(ctx, func(conn *sqlite.Conn) error {
		r := &row{}
		return run(conn, selectMessages, values(to, after), func(stmt *sqlite.Stmt) error {
			r.stmt = stmt
			if more = !room.Take(int(stmt.GetInt64("bytes"))); more {
				return errEnough
			}
			messages = append(messages, journal.Message{})
			return sqlread.ScanMessage(r, &messages[len(messages)-1])
		})
	})
	if err != nil {
		return nil, false, fmt.Errorf("sqlite: messages to %s: %w", to.ID, err)
	}
	return messages, more, nil
}

// Receipts implements journal.Store. A statement for each costs no more than one for all: no network lies between.
func (s *Store) Receipts(
	ctx context.Context, id journal.ID, origins []journal.Origin,
) (found []journal.Receipt, err error) {
	for _, origin := range origins {
		r, err := s.Receipt(ctx, id, origin)
		switch {
		case err == nil:
			found = append(found, *r)
		case !errors.Is(err, journal.ErrNotFound):
			return nil, err
		}
	}
	return found, nil
}

// MailReceivers implements journal.Store.
func (s *Store) MailReceivers(ctx context.Context, after journal.ID, limit int) ([]journal.ID, error) {
	return sqlread.All(
		ctx, s.reader, sqlread.ScanID, "receivers of mail", nil, selectMailReceivers, after, max(limit, 0),
	)
}

// Receivers implements journal.Store.
func (s *Store) Receivers(ctx context.Context, after journal.ID, limit int) (ids []journal.ID, err error) {
	err = s.read(ctx, func(conn *sqlite.Conn) error {
		// The least id behind it: with > SQLite would walk over all messages of that one.
		next := append(after[:], 0)
		for more := true; more && len(ids) < limit; {
			more = false
			err := run(
				conn,
				selectNextReceiver,
				values(int(journal.ID(next[:len(after)]).Shard()), next),
				func(row *sqlite.Stmt) error {
					id := columnID(row, 0)
					ids, next, more = append(ids, id), append(id[:], 0), true
					return nil
				},
			)
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
