package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/cruster/cruster/journal"
)

// final are the states of executions that are over, in SQL.
const final = `('completed', 'failed', 'interrupted')`

// sweep is a sweep under way: a row of short transactions. What keeps it from walking
// over executions that must be kept is described above the sweep of the embedded store,
// which works alike. Rows that a commit holds at this moment are left for the next time.
type sweep struct {
	store  *Store
	before int64
	left   int // may still be deleted

	after        journal.Wake // the last execution that was looked at
	afterReceipt receiptPlace // the last receipt
	afterLock    journal.ID   // the last lock
}

// Sweep implements journal.Store.
func (s *Store) Sweep(ctx context.Context, own []journal.Fence, finishedBefore int64, limit int) (int, error) {
	w := &sweep{store: s, before: finishedBefore, left: max(limit, 0)}
	if err := w.run(ctx, own, w.free, w.delete); err != nil {
		return 0, afterCommit("postgres: sweep", err)
	}
	return max(limit, 0) - w.left, nil
}

// run repeats each step, in transactions of its own, until there is no more to do.
func (w *sweep) run(ctx context.Context, own []journal.Fence, steps ...func(context.Context, pgx.Tx) (bool, error)) error {
	for _, step := range steps {
		for more := true; more && w.left > 0; {
			err := w.store.fenced(ctx, w.store.main, own, func(ctx context.Context, tx pgx.Tx) (err error) {
				more, err = step(ctx, tx)
				return err
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// free gives back to retention what a run that is over has held.
func (w *sweep) free(ctx context.Context, tx pgx.Tx) (more bool, err error) {
	executions := w.store.sql.executions
	var shard int16
	var id, holder []byte // id is nil if the run has continued
	err = tx.QueryRow(ctx, `SELECT shard, id, run FROM `+executions+` WHERE holds AND finished_at > 0 LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED`).
		Scan(&shard, &id, &holder)
	if errors.Is(err, pgx.ErrNoRows) {
		err = tx.QueryRow(ctx, `SELECT shard, run FROM `+w.store.sql.continued+` LIMIT 1 FOR UPDATE SKIP LOCKED`).Scan(&shard, &holder)
	}
	if errors.Is(err, pgx.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	tag, err := tx.Exec(ctx, `UPDATE `+executions+` x SET held_by = NULL
		FROM (SELECT shard, id FROM `+executions+` WHERE held_by = $1 LIMIT $2 FOR NO KEY UPDATE) AS held
		WHERE x.shard = held.shard AND x.id = held.id`, holder, journal.SweepBatch)
	if err != nil {
		return false, err
	}
	receipts, err := w.freeReceipts(ctx, tx, holder)
	switch {
	case err != nil || tag.RowsAffected() == journal.SweepBatch || receipts == journal.SweepBatch:
	case id == nil:
		_, err = tx.Exec(ctx, `DELETE FROM `+w.store.sql.continued+` WHERE shard = $1 AND run = $2`, shard, holder)
	default:
		_, err = tx.Exec(ctx, `UPDATE `+executions+` SET holds = false WHERE shard = $1 AND id = $2`, shard, id)
	}
	return true, err
}

// expired is an execution whose time is over.
type expired struct {
	id     journal.ID
	holder journal.ID // that is alive and may ask for it, if there is one
	at     int64
}

// delete looks at a few executions, and deletes those that no other may ask for.
func (w *sweep) delete(ctx context.Context, tx pgx.Tx) (more bool, err error) {
	found, err := w.expired(ctx, tx)
	if err != nil || len(found) == 0 {
		return false, err
	}
	linked, err := w.linkedMeanwhile(ctx, tx, found)
	if err != nil {
		return false, err
	}
	var held, free []expired
	for _, e := range found {
		switch {
		case !e.holder.IsZero():
			held = append(held, e)
		case !linked[e.id]: // else it is left for the next time
			free = append(free, e)
		}
	}
	if err := w.hold(ctx, tx, held); err != nil {
		return false, err
	}
	sizes, err := w.sizes(ctx, tx, free)
	if err != nil {
		return false, err
	}
	whole, entries := journal.CutSweep(sizes)
	if err := w.deleteWhole(ctx, tx, free[:whole]); err != nil {
		return false, err
	}
	w.left -= whole
	if entries > 0 {
		return true, w.deleteSome(ctx, tx, free[0].id, entries)
	}
	last := found[len(found)-1]
	if whole < len(free) {
		// The rest is looked at again: it begins behind the last that is gone.
		last = free[whole-1]
	}
	w.after = journal.Wake{At: last.at, ID: last.id}
	return true, nil
}

// selectExpired finds what may be deleted, oldest first, each with an execution
// that is alive and may ask for it.
func (st *statements) selectExpired() string {
	return `SELECT e.id, e.finished_at, coalesce(
			(SELECT p.id FROM ` + st.executions + ` p
				WHERE p.shard = get_byte(e.parent, 0) AND p.id = e.parent AND p.run = e.parent_run AND p.state NOT IN ` + final + `),
			(SELECT p.id FROM ` + st.links + ` l JOIN ` + st.executions + ` p ON p.shard = l.shard AND p.id = l.id
				WHERE l.callee_run = coalesce(e.chain, e.run) AND p.state NOT IN ` + final + ` LIMIT 1))
		FROM ` + st.executions + ` e
		WHERE e.finished_at > 0 AND e.held_by IS NULL AND NOT e.holds AND e.finished_at < $1 AND (e.finished_at, e.id) > ($2, $3)
			AND e.state IN ` + final + `
		ORDER BY e.finished_at, e.id LIMIT $4 FOR UPDATE OF e SKIP LOCKED`
}

func (w *sweep) expired(ctx context.Context, tx pgx.Tx) ([]expired, error) {
	rows, err := tx.Query(ctx, w.store.sql.selectExpired(), w.before, w.after.At, w.after.ID[:], min(w.left, journal.SweepBatch))
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (e expired, err error) {
		var id, holder []byte
		if err := row.Scan(&id, &e.at, &holder); err != nil {
			return e, err
		}
		if holder != nil {
			if err := decodeID(holder, &e.holder); err != nil {
				return e, err
			}
		}
		return e, decodeID(id, &e.id)
	})
}

// linkedMeanwhile finds those that a link was made to while they were being found. A
// link locks its callee, and one that waits for the lock finds the callee gone; but one
// that was committed after the statement that found them had begun, and before that had
// locked the row, was not seen by it. This is another statement, so it sees it.
func (w *sweep) linkedMeanwhile(ctx context.Context, tx pgx.Tx, found []expired) (map[journal.ID]bool, error) {
	shards, ids := sweepKeys(found, func(e expired) journal.ID { return e.id })
	rows, err := tx.Query(ctx, `
		SELECT e.id FROM unnest($1::int2[], $2::bytea[]) AS f (shard, id) JOIN `+w.store.sql.executions+` e USING (shard, id)
		WHERE EXISTS (SELECT FROM `+w.store.sql.links+` l JOIN `+w.store.sql.executions+` p ON p.shard = l.shard AND p.id = l.id
			WHERE l.callee_run = coalesce(e.chain, e.run) AND p.state NOT IN `+final+`)`, shards, ids)
	if err != nil {
		return nil, err
	}
	linked := map[journal.ID]bool{}
	var id []byte
	_, err = pgx.ForEachRow(rows, []any{&id}, func() error {
		linked[journal.ID(id)] = true
		return nil
	})
	return linked, err
}

// hold keeps retention from looking at executions again until their holders are
// over. The rows of the holders are locked first: one that ends at this moment either
// has ended by then, and holds nothing, or ends behind this, and is found by free.
func (w *sweep) hold(ctx context.Context, tx pgx.Tx, held []expired) error {
	if len(held) == 0 {
		return nil
	}
	shards, ids := sweepKeys(held, func(e expired) journal.ID { return e.id })
	holderShards, holders := sweepKeys(held, func(e expired) journal.ID { return e.holder })
	_, err := tx.Exec(ctx, `
		WITH pairs AS (SELECT * FROM unnest($1::int2[], $2::bytea[], $3::int2[], $4::bytea[]) AS p (shard, id, holder_shard, holder)),
		alive AS (
			SELECT h.shard, h.id, h.run FROM `+w.store.sql.executions+` h
			WHERE (h.shard, h.id) IN (SELECT holder_shard, holder FROM pairs) AND h.state NOT IN `+final+` FOR NO KEY UPDATE SKIP LOCKED),
		marked AS (UPDATE `+w.store.sql.executions+` x SET holds = true FROM alive a WHERE x.shard = a.shard AND x.id = a.id AND NOT x.holds)
		UPDATE `+w.store.sql.executions+` x SET held_by = a.run
		FROM pairs p JOIN alive a ON a.shard = p.holder_shard AND a.id = p.holder WHERE x.shard = p.shard AND x.id = p.id`,
		shards, ids, holderShards, holders)
	return err
}

// sizes measures the rows of executions that there may be many of: those that are deleted
// next.
func (w *sweep) sizes(ctx context.Context, tx pgx.Tx, free []expired) ([]journal.SweepSize, error) {
	shards, ids := sweepKeys(free, func(e expired) journal.ID { return e.id })
	sql := &w.store.sql
	rows, err := tx.Query(ctx, `
		SELECT count(j.n), coalesce(sum(j.n), 0)::int8
		FROM unnest($1::int2[], $2::bytea[]) WITH ORDINALITY AS e (shard, id, place) LEFT JOIN LATERAL (
			(SELECT i.bytes AS n FROM `+sql.inbox+` i WHERE i.shard = e.shard AND i.id = e.id ORDER BY i.position DESC LIMIT $3)
			UNION ALL (SELECT coalesce(octet_length(r.value), 0) FROM `+sql.receipts+` r WHERE r.shard = e.shard AND r.id = e.id ORDER BY r.origin DESC LIMIT $3)
			UNION ALL (SELECT octet_length(x.entry) FROM `+sql.entries+` x WHERE x.shard = e.shard AND x.id = e.id ORDER BY x.seq DESC LIMIT $3)
			LIMIT $3) AS j ON true
		GROUP BY e.place ORDER BY e.place`, shards, ids, journal.SweepEntries)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[journal.SweepSize])
}

func (w *sweep) deleteWhole(ctx context.Context, tx pgx.Tx, free []expired) error {
	shards, ids := sweepKeys(free, func(e expired) journal.ID { return e.id })
	sql := &w.store.sql
	for _, table := range []string{sql.inbox, sql.receipts, sql.entries, sql.deferreds, sql.links, sql.hibernated, sql.published, sql.attributes, sql.executions} {
		_, err := tx.Exec(ctx, `DELETE FROM `+table+` x USING unnest($1::int2[], $2::bytea[]) AS d (shard, id) WHERE x.shard = d.shard AND x.id = d.id`, shards, ids)
		if err != nil {
			return err
		}
	}
	return nil
}

// deleteSome deletes n rows of an execution, in the order in which sizes counts them.
func (w *sweep) deleteSome(ctx context.Context, tx pgx.Tx, id journal.ID, n int64) error {
	sql := &w.store.sql
	for _, rows := range []struct{ table, key string }{{sql.inbox, "position"}, {sql.receipts, "origin"}, {sql.entries, "seq"}} {
		if n <= 0 {
			break
		}
		// By a range, and not by a join: what the planner knows of a table that was just filled
		// may make that one a comparison of each row with each.
		tag, err := tx.Exec(ctx, `DELETE FROM `+rows.table+` WHERE shard = $1 AND id = $2 AND `+rows.key+` >= (
			SELECT key FROM (SELECT `+rows.key+` AS key FROM `+rows.table+` WHERE shard = $1 AND id = $2 ORDER BY `+rows.key+` DESC LIMIT $3) AS d
			ORDER BY key LIMIT 1)`, int16(id.Shard()), id[:], n)
		if err != nil {
			return err
		}
		n -= tag.RowsAffected()
	}
	return nil
}

// sweepKeys are the keys of rows as columns.
func sweepKeys(rows []expired, id func(expired) journal.ID) (shards []int16, ids [][]byte) {
	shards, ids = make([]int16, len(rows)), make([][]byte, len(rows))
	for i, e := range rows {
		key := id(e)
		shards[i], ids[i] = int16(key.Shard()), key[:]
	}
	return shards, ids
}
