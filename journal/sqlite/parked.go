package sqlite

import (
	"fmt"

	"zombiezen.com/go/sqlite"

	"github.com/cruster/cruster/journal"
)

const (
	parkMessage = `UPDATE cruster_inbox SET parked = ?5, namespace = ?6, type = ?7, key = ?8
		WHERE shard = ?1 AND id = ?2 AND chain = +?3 AND position = ?4 AND parked IS NULL RETURNING bytes`
	unparkMessage = `UPDATE cruster_inbox SET parked = NULL, namespace = NULL, type = NULL, key = NULL
		WHERE shard = ?1 AND id = ?2 AND chain = +?3 AND position = ?4 AND parked IS NOT NULL RETURNING bytes`
	selectParkedTally = `SELECT count(*), coalesce(sum(bytes), 0) FROM (
		SELECT bytes FROM cruster_inbox WHERE shard = ?1 AND id = ?2 AND parked IS NOT NULL LIMIT +?3)`
)

// parkedFull reports whether an inbox takes no more messages because of its parked ones.
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
		if err := b.move(
			w, parkMessage, -1, w.Receiver(), p.Position, pack(p.Body()), p.Namespace, p.Type, p.Key,
		); err != nil {
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
