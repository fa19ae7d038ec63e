package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// Receipts implements journal.Store.
func (s *Store) Receipts(ctx context.Context, id journal.ID, origins []journal.Origin) ([]journal.Receipt, error) {
	keys := make([][]byte, len(origins))
	for i := range origins {
		keys[i] = origins[i][:]
	}
	scan := func(row pgx.CollectableRow) (r journal.Receipt, err error) {
		var origin, sender, run, step, raw []byte
		if err := row.Scan(&origin, &r.At, &sender, &run, &step, &raw, &r.Value); err != nil {
			return r, err
		}
		r.Origin, r.From = journal.Origin(origin), callerOf(sender, run, step)
		r.Error, err = decode[abi.Error](raw)
		return r, err
	}
	return readAll(ctx, s, scan, "receipts of "+id.String(), s.sql.receiptsQuery(), int16(id.Shard()), id[:], keys)
}

// receiptsQuery reads receipts by their origins, one after the other: of a list of origins the planner makes a filter over all
// receipts of the id, of which an entity may have millions.
func (st *statements) receiptsQuery() string {
	return `SELECT r.* FROM unnest($3::bytea[]) AS o (origin) CROSS JOIN LATERAL (
			SELECT origin, at, sender, sender_run, step, error, value FROM ` + st.receipts + ` WHERE shard = $1 AND id = $2 AND origin = o.origin LIMIT 1) AS r`
}
