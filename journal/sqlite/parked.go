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
	err = run(b.conn, selectParkedTally, values(receiver.ID, journal.MaxParked), func(row *sqlite.Stmt) error {
		full = row.ColumnInt64(0) >= journal.MaxParked || row.ColumnInt64(1) >= journal.MaxParkedBytes
		return nil
	})
	return full, err
}

// unpark puts parked messages of a write back into its inbox.
func (b *batch) unpark(w *journal.Write) error {
	for _, position := range w.Unpark {
		if err := b.move(w, unparkMessage, 1, w.Receiver(), position); err != nil {
			return fmt.Errorf("parked message %d to %s: %w", position, w.ID, err)
		}
	}
	return nil
}

// park parks messages of a write.
func (b *batch) park(w *journal.Write) error {
	for i := range w.Park {
		p := &w.Park[i]
		if err := b.move(w, parkMessage, -1, w.Receiver(), p.Position, pack(p.Body()), p.Namespace, p.Type, p.Key); err != nil {
			return fmt.Errorf("message %d to %s: %w", p.Position, w.ID, err)
		}
	}
	return nil
}

// move moves a message into the inbox, or out of it.
func (b *batch) move(w *journal.Write, query string, messages int64, list ...any) error {
	moved := false
	err := run(b.conn, query, values(list...), func(row *sqlite.Stmt) error {
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
func (s *Store) Parked(ctx context.Context, f journal.ParkedFilter) ([]journal.ParkedMessage, error) {
	limit, err := f.Size()
	if err != nil {
		return nil, err
	}
	if place := f.Place(); f.Namespace != "" && place.Namespace != f.Namespace {
		return nil, nil
	}
	query, list := parkedQuery(&f, limit)
	return readAll(ctx, s, scanParked, "parked messages", query, list...)
}

// parkedQuery lists what is behind a place: of one entity, of one namespace or of all.
func parkedQuery(f *journal.ParkedFilter, limit int) (query string, list []any) {
	const columns = "SELECT " + envelopeColumns + ", id, namespace, type, key, parked FROM cruster_inbox "
	place := f.Place()
	if !f.Entity.IsZero() { // over its key it would walk through the inbox
		return columns + "INDEXED BY cruster_inbox_parked WHERE shard = ?1 AND id = ?2 AND position > ?3 AND parked IS NOT NULL ORDER BY position LIMIT ?4",
			[]any{f.Entity, place.Position, limit}
	}
	behind := "namespace = ?1 AND (type, key, position) > (?2, ?3, ?4)"
	if f.Namespace == "" {
		behind = "(namespace, type, key, position) > (?1, ?2, ?3, ?4)"
	}
	operator, bound := f.Bound()
	return columns + "WHERE parked IS NOT NULL AND " + behind + " AND type " + operator + " ?5 AND type >= ?6 ORDER BY namespace, type, key, position LIMIT ?7",
		[]any{place.Namespace, place.Type, place.Key, place.Position, bound, f.Type, limit}
}

func scanParked(row *sqlite.Stmt) (journal.ParkedMessage, error) {
	message, err := scanEnvelope(row)
	if err != nil {
		return journal.ParkedMessage{}, err
	}
	m := journal.ParkedMessage{Entity: columnID(row, 10), Message: message}
	m.Position, m.Namespace, m.Type, m.Key = message.Position, row.ColumnText(11), row.ColumnText(12), row.ColumnText(13)
	body, err := packed[journal.ParkedBody](row, 14)
	if err == nil && body != nil {
		m.SetBody(body)
	}
	return m, err
}
