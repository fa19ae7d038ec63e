package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/cruster/cruster/journal/sqlsweep"
)

// selectOldReceipts lists receipts, by shards and oldest first, each with an execution that is alive and
// may ask for it.
func (st *statements) selectOldReceipts() string {
	return `SELECT r.at, r.id, r.origin, coalesce(octet_length(r.value), 0),
			EXISTS (SELECT FROM ` + st.executions + ` e
				WHERE e.shard = ` + shardOf("r.sender") + ` AND e.run = r.sender_run AND e.state NOT IN ` + final +
		lookUp + `
		FROM unnest($1::int2[]) AS s (shard) CROSS JOIN LATERAL (
			SELECT x.* FROM ` + st.receipts + ` x WHERE x.shard = s.shard AND NOT x.held AND x.at < $2
				AND (x.at, x.id, x.origin) > (` + fromPlace("$4::int8", "(-9223372036854775808)::int8") + `, ` +
		fromPlace("$5::bytea", "''") + `, ` + fromPlace("$6::bytea", "''") + `)
			ORDER BY x.at, x.id, x.origin LIMIT $7) AS r
		LIMIT $7`
}

// OldReceipts implements sqlsweep.Tx.
func (tx *ownedTx) OldReceipts(
	ctx context.Context, before int64, after sqlsweep.ReceiptPlace, limit int,
) ([]sqlsweep.OldReceipt, error) {
	shard := after.ID.Shard()
	rows, err := tx.Query(
		ctx, tx.sql.selectOldReceipts(), tx.shards(shard), before, int16(shard), after.At, after.ID[:], after.Origin[:],
		limit,
	)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (r sqlsweep.OldReceipt, err error) {
		var id, origin []byte
		err = row.Scan(&r.At, &id, &origin, &r.Bytes, &r.Live)
		copy(r.ID[:], id)
		copy(r.Origin[:], origin)
		return r, err
	})
}

// HoldReceipts implements sqlsweep.Tx. The rows of the senders are locked first, as in Hold.
func (tx *ownedTx) HoldReceipts(ctx context.Context, held []sqlsweep.OldReceipt) error {
	if len(held) == 0 {
		return nil
	}
	shards, ids, origins := receiptKeys(held)
	_, err := tx.Exec(ctx, `
		WITH kept AS (
			SELECT r.* FROM unnest($1::int2[], $2::bytea[], $3::bytea[]) AS k (shard, id, origin) JOIN `+
		tx.sql.receipts+` r USING (shard, id, origin)),
		alive AS (
			SELECT h.shard, h.run FROM `+tx.sql.executions+` h
			WHERE (h.shard, h.run) IN (SELECT `+shardOf("sender")+`, sender_run FROM kept) AND h.state NOT IN `+final+`
			FOR NO KEY UPDATE SKIP LOCKED),
		marked AS (UPDATE `+tx.sql.executions+
		` x SET holds = true FROM alive a WHERE x.shard = a.shard AND x.run = a.run AND NOT x.holds)
		UPDATE `+tx.sql.receipts+` r SET held = true
		FROM kept k JOIN alive a ON a.run = k.sender_run WHERE r.shard = k.shard AND r.id = k.id
			AND r.origin = k.origin`,
		shards, ids, origins)
	return err
}

// DeleteReceipts implements sqlsweep.Tx.
func (tx *ownedTx) DeleteReceipts(ctx context.Context, free []sqlsweep.OldReceipt) (int, error) {
	if len(free) == 0 {
		return 0, nil
	}
	shards, ids, origins := receiptKeys(free)
	tag, err := tx.Exec(ctx, tx.sql.deleteReceipts(), shards, ids, origins)
	return int(tag.RowsAffected()), err
}

func (st *statements) deleteReceipts() string {
	return `DELETE FROM ` + st.receipts +
		` r USING unnest($1::int2[], $2::bytea[], $3::bytea[]) AS d (shard, id, origin)
		WHERE r.shard = d.shard AND r.id = d.id AND r.origin = d.origin`
}

// receiptKeys are the keys of receipts as columns.
func receiptKeys(rows []sqlsweep.OldReceipt) (shards []int16, ids, origins [][]byte) {
	for i := range rows {
		r := &rows[i]
		shards, ids, origins = append(shards, int16(r.ID.Shard())), append(ids, r.ID[:]), append(origins, r.Origin[:])
	}
	return shards, ids, origins
}
