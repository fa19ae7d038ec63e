package sqlite

import (
	"context"
	"fmt"

	"zombiezen.com/go/sqlite"

	"github.com/cruster/cruster/journal"
)

const (
	parkMessage = `UPDATE cruster_inbox SET parked = ?5, namespace = ?6, type = ?7, key = ?8
		WHERE shard = ?1 AND id = ?2 AND chain = ?3 AND position = ?4 AND parked IS NULL RETURNING bytes`
	unparkMessage = `UPDATE cruster_inbox SET parked = NULL, namespace = NULL, type = NULL, key = NULL
		WHERE shard = ?1 AND id = ?2 AND chain = ?3 AND position = ?4 AND parked IS NOT NULL RETURNING bytes`
	selectParkedTally = `SELECT count(*), coalesce(sum(bytes), 0) FROM (
		SELECT bytes FROM cruster_inbox WHERE shard = ?1 AND id = ?2 AND parked IS NOT NULL LIMIT ?3)`
)

// parkedFull tells whether an inbox takes no more messages because of those that are parked.
func (b *batch) parkedFull(receiver journal.Receiver) (full bool, err error) {
	if !receiver.Chain.IsZero() {
		return false, nil // messages of executions are not parked
	}
	err = run(b.conn, selectParkedTally, func(stmt *sqlite.Stmt) {
		bindID(stmt, 1, 2, receiver.ID)
		stmt.BindInt64(3, journal.MaxParked)
	}, func(row *sqlite.Stmt) error {
		full = row.ColumnInt64(0) >= journal.MaxParked || row.ColumnInt64(1) >= journal.MaxParkedBytes
		return nil
	})
	return full, err
}

// unpark puts parked messages of a write back into its inbox.
func (b *batch) unpark(w *journal.Write) error {
	for _, position := range w.Unpark {
		err := b.move(w, unparkMessage, 1, func(stmt *sqlite.Stmt) { bindPlace(stmt, w.Receiver(), position) })
		if err != nil {
			return fmt.Errorf("parked message %d to %s: %w", position, w.ID, err)
		}
	}
	return nil
}

// park parks messages of a write.
func (b *batch) park(w *journal.Write) error {
	for i := range w.Park {
		p := &w.Park[i]
		err := b.move(w, parkMessage, -1, func(stmt *sqlite.Stmt) {
			bindPlace(stmt, w.Receiver(), p.Position)
			bindPacked(stmt, 5, p.Body())
			stmt.BindText(6, p.Namespace)
			stmt.BindText(7, p.Type)
			stmt.BindText(8, p.Key)
		})
		if err != nil {
			return fmt.Errorf("message %d to %s: %w", p.Position, w.ID, err)
		}
	}
	return nil
}

// move moves a message into the inbox, or out of it.
func (b *batch) move(w *journal.Write, query string, messages int64, bind func(*sqlite.Stmt)) error {
	moved := false
	err := run(b.conn, query, bind, func(row *sqlite.Stmt) error {
		b.mail.changed(w.Receiver(), messages, messages*row.ColumnInt64(0))
		moved = true
		return nil
	})
	if err == nil && !moved {
		err = errNoMessage
	}
	return err
}

// Parked implements journal.Store.
func (s *Store) Parked(ctx context.Context, f journal.ParkedFilter) (found []journal.ParkedMessage, err error) {
	limit, err := f.Size()
	if err != nil {
		return nil, err
	}
	place := f.Place()
	if f.Namespace != "" && place.Namespace != f.Namespace {
		return nil, nil
	}
	query, bound := parkedQuery(&f)
	err = s.read(ctx, func(conn *sqlite.Conn) error {
		return run(conn, query, func(stmt *sqlite.Stmt) {
			stmt.BindInt64(4, int64(place.Position))
			stmt.BindInt64(7, int64(limit))
			if !f.Entity.IsZero() {
				bindID(stmt, 1, 2, f.Entity)
				return
			}
			stmt.BindText(1, place.Namespace)
			stmt.BindText(2, place.Type)
			stmt.BindText(3, place.Key)
			stmt.BindText(5, bound)
			stmt.BindText(6, f.Type)
		}, func(row *sqlite.Stmt) error {
			m, err := scanParked(row)
			found = append(found, m)
			return err
		})
	})
	if err != nil {
		return nil, fmt.Errorf("sqlite: list parked messages: %w", err)
	}
	return found, nil
}

// parkedQuery lists what is behind a place: of one entity, of one namespace or of all.
func parkedQuery(f *journal.ParkedFilter) (query, bound string) {
	const columns = "SELECT " + envelopeColumns + ", id, namespace, type, key, parked FROM cruster_inbox "
	if !f.Entity.IsZero() { // over its key it would walk through the inbox
		return columns + "INDEXED BY cruster_inbox_parked WHERE shard = ?1 AND id = ?2 AND position > ?4 AND parked IS NOT NULL ORDER BY position LIMIT ?7", ""
	}
	behind := "namespace = ?1 AND (type, key, position) > (?2, ?3, ?4)"
	if f.Namespace == "" {
		behind = "(namespace, type, key, position) > (?1, ?2, ?3, ?4)"
	}
	operator, bound := f.Bound()
	return columns + "WHERE parked IS NOT NULL AND " + behind +
		" AND type " + operator + " ?5 AND type >= ?6 ORDER BY namespace, type, key, position LIMIT ?7", bound
}

func scanParked(row *sqlite.Stmt) (journal.ParkedMessage, error) {
	m := journal.ParkedMessage{Entity: columnID(row, 10), Message: scanEnvelope(row)}
	m.Position, m.Namespace, m.Type, m.Key = m.Message.Position, row.ColumnText(11), row.ColumnText(12), row.ColumnText(13)
	body, err := packed[journal.ParkedBody](row, 14)
	if err == nil && body != nil {
		m.SetBody(body)
	}
	return m, err
}
