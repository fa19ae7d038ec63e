package postgres

import (
	"context"

	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/journal/sqlread"
)

// Receipts implements journal.Store.
func (s *Store) Receipts(ctx context.Context, id journal.ID, origins []journal.Origin) ([]journal.Receipt, error) {
	keys := make([][]byte, len(origins))
	for i := range origins {
		keys[i] = origins[i][:]
	}
	return sqlread.All(ctx, s.reader, sqlread.ScanReceipt, "receipts of", id, s.sql.receiptsQuery(),
		int16(id.Shard()), id[:], keys)
}

// receiptsQuery reads receipts by their origins, one after the other: of a list of origins the
// planner makes a filter over all receipts of the id, and an entity may have millions.
func (st *statements) receiptsQuery() string {
	return `SELECT r.* FROM unnest($3::bytea[]) AS o (origin) CROSS JOIN LATERAL (
			SELECT ` + sqlread.ReceiptColumns + ` FROM ` + st.receipts + `
				WHERE shard = $1 AND id = $2 AND origin = o.origin LIMIT 1) AS r`
}
