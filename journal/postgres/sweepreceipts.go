package postgres

import (
	"context"
	"math"

	"github.com/jackc/pgx/v5"

	"github.com/cruster/cruster/journal"
)

// receiptPlace is where a receipt stands in the order of a sweep.
type receiptPlace struct {
	at     int64
	id     journal.ID
	origin journal.Origin
}

// SweepReceipts implements journal.Store. Receipts of steps of a run that is not over are
// held by it, as executions are: see the sweep of the embedded store.
func (s *Store) SweepReceipts(ctx context.Context, own []journal.Fence, before int64, limit int) (int, error) {
	w := &sweep{store: s, before: before, left: max(limit, 0), afterReceipt: receiptPlace{at: math.MinInt64}}
	if err := w.run(ctx, own, w.free, w.deleteReceipts); err != nil {
		return 0, afterCommit("postgres: sweep receipts", err)
	}
	return max(limit, 0) - w.left, nil
}

// oldReceipt is a receipt whose time is over.
type oldReceipt struct {
	receiptPlace
	held  bool // by a run that is alive and may ask for it
	bytes int64
}

// deleteReceipts looks at a few receipts, and deletes those that no step may ask for.
func (w *sweep) deleteReceipts(ctx context.Context, tx *ownedTx) (more bool, err error) {
	limit := min(w.left, journal.SweepEntries)
	found, err := w.oldReceipts(ctx, tx, limit)
	if err != nil || len(found) == 0 {
		return false, err
	}
	owned, _, _ := receiptKeys(found)
	if err := tx.check(ctx, owned...); err != nil {
		return false, err
	}
	var held, free []oldReceipt
	bytes := int64(0)
	more = len(found) == limit
	for _, r := range found {
		if bytes > journal.SweepBytes {
			more = true
			break
		}
		w.afterReceipt = r.receiptPlace
		if r.held {
			held = append(held, r)
			continue
		}
		free = append(free, r)
		bytes += r.bytes
	}
	if err := w.holdReceipts(ctx, tx, held); err != nil {
		return false, err
	}
	shards, ids, origins := receiptKeys(free)
	tag, err := tx.Exec(ctx, w.store.sql.deleteReceipts(), shards, ids, origins)
	w.left -= int(tag.RowsAffected())
	return more, err
}

func (st *statements) deleteReceipts() string {
	return `DELETE FROM ` + st.receipts + ` r USING unnest($1::int2[], $2::bytea[], $3::bytea[]) AS d (shard, id, origin)
		WHERE r.shard = d.shard AND r.id = d.id AND r.origin = d.origin`
}

// selectOldReceipts lists receipts, by shards and oldest first, each with an execution that is alive and
// may ask for it.
func (st *statements) selectOldReceipts() string {
	return `SELECT r.at, r.id, r.origin, coalesce(octet_length(r.value), 0),
			EXISTS (SELECT FROM ` + st.executions + ` e
				WHERE e.shard = ` + shardOf("r.sender") + ` AND e.run = r.sender_run AND e.state NOT IN ` + final + lookUp + `
		FROM unnest($1::int2[]) AS s (shard) CROSS JOIN LATERAL (
			SELECT x.* FROM ` + st.receipts + ` x WHERE x.shard = s.shard AND NOT x.held AND x.at < $2
				AND (x.at, x.id, x.origin) > (` + fromPlace("$4::int8", "(-9223372036854775808)::int8") + `, ` +
		fromPlace("$5::bytea", "''") + `, ` + fromPlace("$6::bytea", "''") + `)
			ORDER BY x.at, x.id, x.origin LIMIT $7) AS r
		LIMIT $7`
}

func (w *sweep) oldReceipts(ctx context.Context, tx *ownedTx, limit int) ([]oldReceipt, error) {
	after := &w.afterReceipt
	shard := after.id.Shard()
	rows, err := tx.Query(ctx, w.store.sql.selectOldReceipts(), tx.shards(shard), w.before, int16(shard), after.at, after.id[:], after.origin[:], limit)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (r oldReceipt, err error) {
		var id, origin []byte
		err = row.Scan(&r.at, &id, &origin, &r.bytes, &r.held)
		copy(r.id[:], id)
		copy(r.origin[:], origin)
		return r, err
	})
}

// holdReceipts keeps retention from looking at receipts again until their senders are over.
// The rows of those are locked first, as in hold.
func (w *sweep) holdReceipts(ctx context.Context, tx pgx.Tx, held []oldReceipt) error {
	if len(held) == 0 {
		return nil
	}
	shards, ids, origins := receiptKeys(held)
	_, err := tx.Exec(ctx, `
		WITH kept AS (
			SELECT r.* FROM unnest($1::int2[], $2::bytea[], $3::bytea[]) AS k (shard, id, origin) JOIN `+w.store.sql.receipts+` r USING (shard, id, origin)),
		alive AS (
			SELECT h.shard, h.run FROM `+w.store.sql.executions+` h
			WHERE (h.shard, h.run) IN (SELECT `+shardOf("sender")+`, sender_run FROM kept) AND h.state NOT IN `+final+`
			FOR NO KEY UPDATE SKIP LOCKED),
		marked AS (UPDATE `+w.store.sql.executions+` x SET holds = true FROM alive a WHERE x.shard = a.shard AND x.run = a.run AND NOT x.holds)
		UPDATE `+w.store.sql.receipts+` r SET held = true
		FROM kept k JOIN alive a ON a.run = k.sender_run WHERE r.shard = k.shard AND r.id = k.id AND r.origin = k.origin`,
		shards, ids, origins)
	return err
}

// freeReceipts gives back to retention what an execution that is over has held.
func (w *sweep) freeReceipts(ctx context.Context, tx pgx.Tx, holder []byte) (n int64, err error) {
	receipts := w.store.sql.receipts
	tag, err := tx.Exec(ctx, `UPDATE `+receipts+` r SET held = false
		FROM (SELECT shard, id, origin FROM `+receipts+` WHERE held AND sender_run = $1 LIMIT $2) AS h
		WHERE r.shard = h.shard AND r.id = h.id AND r.origin = h.origin`, holder, journal.SweepBatch)
	return tag.RowsAffected(), err
}

// receiptKeys are the keys of receipts as columns.
func receiptKeys(rows []oldReceipt) (shards []int16, ids, origins [][]byte) {
	for i := range rows {
		r := &rows[i]
		shards, ids, origins = append(shards, int16(r.id.Shard())), append(ids, r.id[:]), append(origins, r.origin[:])
	}
	return shards, ids, origins
}
