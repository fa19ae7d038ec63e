package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/journal/sqlread"
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

	after        expired      // the last run that was looked at
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
func (w *sweep) run(ctx context.Context, own []journal.Fence, steps ...func(context.Context, *ownedTx) (bool, error)) error {
	for _, step := range steps {
		for more := true; more && w.left > 0; {
			err := w.store.owned(ctx, w.store.main, own, func(ctx context.Context, tx *ownedTx) (err error) {
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

// holders are tables with runs that hold others, and the condition that they are over.
func (st *statements) holders() []holders {
	return []holders{{st.executions, ` AND finished_at > 0`}, {st.retired, ``}}
}

type holders struct{ table, over string }

// find finds one that is over.
func (h *holders) find() string {
	return `SELECT shard, run FROM ` + h.table + ` WHERE shard = ANY($1::int2[]) AND holds` + h.over + ` LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED`
}

// free gives back to retention what a run that is over has held.
//
// What it has held may be of other shards, as may be the holders that hold marks: who owns these does not matter. The marks are
// retention's alone, and are changed with their rows locked.
func (w *sweep) free(ctx context.Context, tx *ownedTx) (more bool, err error) {
	sql := &w.store.sql
	for _, holders := range sql.holders() {
		var shard int16
		var holder []byte
		err := tx.QueryRow(ctx, holders.find(), tx.shards(0)).Scan(&shard, &holder)
		if errors.Is(err, pgx.ErrNoRows) {
			continue
		}
		if err == nil {
			err = tx.check(ctx, shard)
		}
		if err != nil {
			return false, err
		}
		tag, err := tx.Exec(ctx, `UPDATE `+sql.executions+` x SET held_by = NULL
			FROM (SELECT shard, run FROM `+sql.executions+` WHERE held_by = $1 LIMIT $2 FOR NO KEY UPDATE) AS held
			WHERE x.shard = held.shard AND x.run = held.run`, holder, journal.SweepBatch)
		if err != nil {
			return false, err
		}
		receipts, err := w.freeReceipts(ctx, tx, holder)
		if err == nil && tag.RowsAffected() < journal.SweepBatch && receipts < journal.SweepBatch {
			_, err = tx.Exec(ctx, `UPDATE `+holders.table+` SET holds = false WHERE shard = $1 AND run = $2`, shard, holder)
		}
		return true, err
	}
	return false, nil
}

// expired is a run whose time is over.
type expired struct {
	id         journal.ID
	superseded int64
	run        journal.RunID
	at         int64
	holder     *journal.RunKey // that is alive and may ask for it, if there is one
}

// delete looks at a few runs, and deletes those that no other may ask for.
func (w *sweep) delete(ctx context.Context, tx *ownedTx) (more bool, err error) {
	limit := min(w.left, journal.SweepBatch)
	found, err := w.expired(ctx, tx, limit)
	if err != nil || len(found) == 0 {
		return false, err
	}
	if err := tx.check(ctx, keysOfRuns(found).shards...); err != nil {
		return false, err
	}
	linked, err := w.linkedMeanwhile(ctx, tx, found)
	if err != nil {
		return false, err
	}
	var held, free []expired
	for _, e := range found {
		switch {
		case e.holder != nil:
			held = append(held, e)
		case !linked[e.run]: // else it is left for the next time
			free = append(free, e)
		}
	}
	if err := w.hold(ctx, tx, held); err != nil {
		return false, err
	}
	left, err := w.deleteReceiptsOf(ctx, tx, free)
	if err != nil {
		return false, err
	}
	whole := free[:len(free)-left]
	if err := w.retire(ctx, tx, whole); err != nil {
		return false, err
	}
	w.left -= len(whole)
	switch {
	case left == 0:
		w.after = found[len(found)-1]
	case len(whole) > 0: // the rest is looked at again
		w.after = whole[len(whole)-1]
	}
	return left > 0 || len(found) == limit, nil
}

// selectExpired finds what may be deleted, by shards and oldest first, each with a run that is alive and may
// ask for it.
func (st *statements) selectExpired() string {
	return `SELECT e.id, e.superseded, e.run, e.finished_at, h.shard, h.run
		FROM unnest($1::int2[]) AS s (shard) CROSS JOIN LATERAL (
			SELECT x.* FROM ` + st.executions + ` x
			WHERE x.shard = s.shard AND x.finished_at > 0 AND x.held_by IS NULL AND NOT x.holds AND x.finished_at < $2 AND x.state IN ` + final + `
				AND (x.finished_at, x.id, x.superseded) > (` + fromPlace("$4::int8", "0") + `, ` + fromPlace("$5::bytea", "''") + `, ` + fromPlace("$6::int8", "0") + `)
			ORDER BY x.finished_at, x.id, x.superseded LIMIT $7 FOR UPDATE SKIP LOCKED) AS e
		LEFT JOIN LATERAL (
			(SELECT p.shard, p.run FROM ` + st.executions + ` p
				WHERE p.shard = ` + shardOf("e.parent") + ` AND p.run = e.parent_run AND p.state NOT IN ` + final + `)
			UNION ALL
			(SELECT p.shard, p.run FROM ` + st.links + ` l JOIN ` + st.executions + ` p ON p.shard = l.shard AND p.run = l.run
				WHERE l.callee_run = coalesce(e.chain, e.run) AND p.state NOT IN ` + final + ` LIMIT 1)
			LIMIT 1) AS h ON true
		LIMIT $7`
}

// fromPlace is where the rows of a shard begin, of a scan that has come to shard $3: behind a place in that one, and at the
// beginning of all others.
func fromPlace(place, beginning string) string {
	return `CASE WHEN s.shard = $3::int2 THEN ` + place + ` ELSE ` + beginning + ` END`
}

func (w *sweep) expired(ctx context.Context, tx *ownedTx, limit int) ([]expired, error) {
	after := &w.after
	shard := after.id.Shard()
	rows, err := tx.Query(ctx, w.store.sql.selectExpired(), tx.shards(shard), w.before, int16(shard), after.at, after.id[:], after.superseded, limit)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (e expired, err error) {
		var holder []byte
		var shard *int16
		err = row.Scan((*sqlread.ID)(&e.id), &e.superseded, (*sqlread.ID)(&e.run), &e.at, &shard, &holder)
		if shard != nil {
			key := runKeyOf(*shard, holder)
			e.holder = &key
		}
		return e, err
	})
}

// linkedMeanwhile finds those that a link was made to while they were being found. A
// link locks its callee, and one that waits for the lock finds the callee gone; but one
// that was committed after the statement that found them had begun, and before that had
// locked the row, was not seen by it. This is another statement, so it sees it.
func (w *sweep) linkedMeanwhile(ctx context.Context, tx pgx.Tx, found []expired) (map[journal.RunID]bool, error) {
	k := keysOfRuns(found)
	rows, err := tx.Query(ctx, `
		SELECT e.run FROM unnest($1::int2[], $2::bytea[]) AS f (shard, run) JOIN `+w.store.sql.executions+` e USING (shard, run)
		WHERE EXISTS (SELECT FROM `+w.store.sql.links+` l JOIN `+w.store.sql.executions+` p ON p.shard = l.shard AND p.run = l.run
			WHERE l.callee_run = coalesce(e.chain, e.run) AND p.state NOT IN `+final+`)`, k.shards, k.ids)
	if err != nil {
		return nil, err
	}
	linked := map[journal.RunID]bool{}
	var run []byte
	_, err = pgx.ForEachRow(rows, []any{&run}, func() error {
		linked[journal.RunID(run)] = true
		return nil
	})
	return linked, err
}

// hold keeps retention from looking at runs again until their holders are
// over. The rows of the holders are locked first: one that ends at this moment either
// has ended by then, and holds nothing, or ends behind this, and is found by free.
func (w *sweep) hold(ctx context.Context, tx pgx.Tx, held []expired) error {
	if len(held) == 0 {
		return nil
	}
	k := keysOfRuns(held)
	var holders keys
	for _, e := range held {
		holders.addRun(*e.holder)
	}
	_, err := tx.Exec(ctx, `
		WITH pairs AS (SELECT * FROM unnest($1::int2[], $2::bytea[], $3::int2[], $4::bytea[]) AS p (shard, run, holder_shard, holder)),
		alive AS (
			SELECT h.shard, h.run FROM `+w.store.sql.executions+` h
			WHERE (h.shard, h.run) IN (SELECT holder_shard, holder FROM pairs) AND h.state NOT IN `+final+` FOR NO KEY UPDATE SKIP LOCKED),
		marked AS (UPDATE `+w.store.sql.executions+` x SET holds = true FROM alive a WHERE x.shard = a.shard AND x.run = a.run AND NOT x.holds)
		UPDATE `+w.store.sql.executions+` x SET held_by = a.run
		FROM pairs p JOIN alive a ON a.shard = p.holder_shard AND a.run = p.holder WHERE x.shard = p.shard AND x.run = p.run`,
		k.shards, k.ids, holders.shards, holders.ids)
	return err
}

// deleteReceiptsOf deletes the receipts of executions whose current runs are deleted, which a next run
// would take for its own. They may be many: it returns how many of the runs, from the last on, must wait.
func (w *sweep) deleteReceiptsOf(ctx context.Context, tx pgx.Tx, free []expired) (left int, err error) {
	room := sweepRoom{rows: journal.SweepEntries, bytes: journal.SweepBytes}
	receipts := ownedRows{w.store.sql.receipts, `shard = $1 AND id = $2`, `origin`, `coalesce(octet_length(value), 0)`}
	for i, e := range free {
		if e.superseded > 0 {
			continue
		}
		whole, err := receipts.delete(ctx, tx, &room, int16(e.id.Shard()), e.id[:])
		if err != nil || !whole {
			return len(free) - i, err
		}
	}
	return 0, nil
}

// retire deletes the rows of runs, and leaves the rest of what they have to Purge.
func (w *sweep) retire(ctx context.Context, tx pgx.Tx, gone []expired) error {
	if len(gone) == 0 {
		return nil
	}
	k := keysOfRuns(gone)
	sql := &w.store.sql
	_, err := tx.Exec(ctx, `
		WITH gone AS (
			DELETE FROM `+sql.executions+` e USING unnest($1::int2[], $2::bytea[]) AS d (shard, run) WHERE e.shard = d.shard AND e.run = d.run
			RETURNING e.shard, e.run, e.id, e.superseded, coalesce(e.chain, e.run) AS chain, e.holds),
		nameless AS (DELETE FROM `+sql.attributes+` a USING gone g WHERE g.superseded = 0 AND a.shard = g.shard AND a.id = g.id)
		INSERT INTO `+sql.retired+` AS r (shard, run, id, chain, holds) SELECT shard, run, id, chain, holds FROM gone`+retiredBefore, k.shards, k.ids)
	return err
}

// keysOfRuns are the keys of runs as columns.
func keysOfRuns(runs []expired) (k keys) {
	for _, e := range runs {
		k.addRun(journal.KeyOf(e.id, e.run))
	}
	return k
}

// Delete implements journal.Store.
func (s *Store) Delete(ctx context.Context, f journal.Fence, id journal.ID, run journal.RunID, superseded uint64) error {
	w, own := &sweep{store: s}, make([]journal.Fence, journal.NumShards)
	own[id.Shard()] = f
	for more := true; more; {
		err := s.owned(ctx, s.main, own, func(ctx context.Context, tx *ownedTx) (err error) {
			more, err = w.deleteRun(ctx, tx, id, run, superseded)
			return err
		})
		if err != nil {
			return afterCommit("postgres: delete "+id.String(), err)
		}
	}
	return nil
}

// lockFamily locks the row of a run, and that of the run that has started it, in the order of batches: see rowLocks.
func (st *statements) lockFamily() string {
	return `SELECT FROM ` + st.executions + ` x WHERE (x.shard, x.run) IN (
			SELECT $1::int2, $2::bytea UNION ALL
			SELECT ` + shardOf("e.parent") + `, e.parent_run FROM ` + st.executions + ` e WHERE e.shard = $1 AND e.run = $2 AND e.parent IS NOT NULL)
		ORDER BY x.shard, x.id, x.superseded FOR UPDATE`
}

// deleteRun deletes a run, or some of its receipts if they are many. Its row is locked first.
func (w *sweep) deleteRun(ctx context.Context, tx *ownedTx, id journal.ID, run journal.RunID, superseded uint64) (more bool, err error) {
	sql := &w.store.sql
	if err := tx.check(ctx, int16(id.Shard())); err != nil {
		return false, err
	}
	this := expired{id: id, run: run}
	if _, err := tx.Exec(ctx, sql.lockFamily(), int16(id.Shard()), run[:]); err != nil {
		return false, err
	}
	err = tx.QueryRow(ctx, `SELECT superseded FROM `+sql.executions+` WHERE shard = $1 AND run = $2 AND id = $3 AND state IN `+final,
		int16(id.Shard()), run[:], id[:]).Scan(&this.superseded)
	if errors.Is(err, pgx.ErrNoRows) || err == nil && uint64(this.superseded) != superseded {
		return false, journal.ErrNotFound
	}
	if err != nil {
		return false, err
	}
	if left, err := w.deleteReceiptsOf(ctx, tx, []expired{this}); err != nil || left > 0 {
		return true, err
	}
	// The step that has started it, if its run is not over, finds that it was deleted. That run may be of a shard with another
	// owner: as a message does in an inbox, the link decides nothing there.
	_, err = tx.Exec(ctx, `INSERT INTO `+sql.links+` (shard, run, step, callee, callee_run)
		SELECT p.shard, p.run, e.parent_step, e.id, coalesce(e.chain, e.run)
		FROM `+sql.executions+` e JOIN `+sql.executions+` p ON p.shard = `+shardOf("e.parent")+` AND p.run = e.parent_run
		WHERE e.shard = $1 AND e.run = $2 AND p.state NOT IN `+final+` FOR KEY SHARE OF p ON CONFLICT DO NOTHING`, int16(id.Shard()), run[:])
	if err != nil {
		return false, err
	}
	return false, w.retire(ctx, tx, []expired{this})
}
