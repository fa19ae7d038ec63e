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
	return readAll(ctx, s, scan, "receipts of "+id.String(),
		`SELECT origin, at, sender, sender_run, step, error, value FROM `+s.sql.receipts+` WHERE shard = $1 AND id = $2 AND origin = ANY($3::bytea[])`,
		int16(id.Shard()), id[:], keys)
}
