package sqlite

import (
	"fmt"

	"github.com/cruster/cruster/journal"
)

// leaveReceipts leaves the receipts of a write, before all else. If there is one already it leaves none, and tells so.
func (b *batch) leaveReceipts(w *journal.Write) (there, err error) {
	for i := range w.Receipts {
		r := &w.Receipts[i]
		err := exec(
			b.conn,
			`INSERT INTO cruster_receipts (shard, id, origin, at, sender, sender_run, step, error, value)
			VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) ON CONFLICT DO NOTHING`,
			w.ID,
			r.Origin,
			r.At,
			r.From,
			pack(r.Error),
			r.Value,
		)
		if err != nil {
			return nil, fmt.Errorf("receipt %x of %s: %w", r.Origin, w.ID, err)
		}
		if b.conn.Changes() > 0 {
			continue
		}
		for _, left := range w.Receipts[:i] {
			if err := exec(b.conn, deleteReceipt, w.ID, left.Origin); err != nil {
				return nil, err
			}
		}
		return fmt.Errorf("sqlite: there is a receipt %x of %s", r.Origin, w.ID), nil
	}
	return nil, nil
}
