package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/journal/sqlread"
	"github.com/cruster/cruster/journal/sqlsweep"
)

// holders are tables with runs that hold others, and the condition that they have ended.
func (st *statements) holders() []holders {
	return []holders{{st.executions, ` AND finished_at > 0`}, {st.retired, ``}}
}

type holders struct{ table, over string }

// find finds a holder that has ended.
func (h *holders) find() string {
	return `SELECT shard, run FROM ` + h.table + ` WHERE shard = ANY($1::int2[]) AND holds` + h.over +
		` LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED`
}

// OverHolder implements sqlsweep.Tx.
func (tx *ownedTx) OverHolder(ctx context.Context) (*sqlsweep.Holder, error) {
	for i, holders := range tx.sql.holders() {
		var shard int16
		var run []byte
		err := tx.QueryRow(ctx, holders.find(), tx.shards(0)).Scan(&shard, &run)
		if err == nil {
			return &sqlsweep.Holder{RunKey: runKeyOf(shard, run), Retired: i > 0}, nil
		}
		if !errors.Is(err, pgx.ErrNoRows) {
			return nil, err
		}
	}
	return nil, nil //nolint:nilnil // there is none
}

// Free implements sqlsweep.Tx.
//
// The rows of the holder, and the holders that Hold marks, may be in shards of other owners. The marks need no fence:
// only retention reads and writes them, with their rows locked.
func (tx *ownedTx) Free(ctx context.Context, h *sqlsweep.Holder, limit int) (more bool, err error) {
	runs, err := tx.Exec(ctx, `UPDATE `+tx.sql.executions+` x SET held_by = NULL
		FROM (SELECT shard, run FROM `+tx.sql.executions+` WHERE held_by = $1 LIMIT $2 FOR NO KEY UPDATE) AS held
		WHERE x.shard = held.shard AND x.run = held.run`, h.Run[:], limit)
	if err != nil {
		return false, err
	}
	receipts, err := tx.Exec(ctx, `UPDATE `+tx.sql.receipts+` r SET held = false
		FROM (SELECT shard, id, origin FROM `+tx.sql.receipts+` WHERE held AND sender_run = $1 LIMIT $2) AS h
		WHERE r.shard = h.shard AND r.id = h.id AND r.origin = h.origin`, h.Run[:], limit)
	return max(runs.RowsAffected(), receipts.RowsAffected()) >= int64(limit), err
}

// ClearHolder implements sqlsweep.Tx.
func (tx *ownedTx) ClearHolder(ctx context.Context, h *sqlsweep.Holder) error {
	table := tx.sql.executions
	if h.Retired {
		table = tx.sql.retired
	}
	_, err := tx.Exec(ctx, `UPDATE `+table+` SET holds = false WHERE shard = $1 AND run = $2`, int16(h.Shard), h.Run[:])
	return err
}

// selectExpired finds the runs that may be deleted, by shards and oldest first, each with a run that is alive and may
// ask for it.
func (st *statements) selectExpired() string {
	return `SELECT e.id, e.superseded, e.run, e.finished_at, h.shard, h.run
		FROM unnest($1::int2[]) AS s (shard) CROSS JOIN LATERAL (
			SELECT x.* FROM ` + st.executions + ` x
			WHERE x.shard = s.shard AND x.finished_at > 0 AND x.held_by IS NULL AND NOT x.holds AND x.finished_at < $2
				AND x.state IN ` + final + `
				AND (x.finished_at, x.id, x.superseded) > (` + fromPlace("$4::int8", "0") + `, ` +
		fromPlace("$5::bytea", "''") + `, ` + fromPlace("$6::int8", "0") + `)
			ORDER BY x.finished_at, x.id, x.superseded LIMIT $7 FOR UPDATE SKIP LOCKED) AS e
		LEFT JOIN LATERAL (
			(SELECT p.shard, p.run FROM ` + st.executions + ` p
				WHERE p.shard = ` + shardOf("e.parent") + ` AND p.run = e.parent_run AND p.state NOT IN ` + final + `)
			UNION ALL
			(SELECT p.shard, p.run FROM ` + st.links + ` l JOIN ` + st.executions +
		` p ON p.shard = l.shard AND p.run = l.run
				WHERE l.callee_run = coalesce(e.chain, e.run) AND p.state NOT IN ` + final + ` LIMIT 1)
			LIMIT 1) AS h ON true
		LIMIT $7`
}

// Expired implements sqlsweep.Tx.
func (tx *ownedTx) Expired(
	ctx context.Context, before int64, after sqlsweep.RunPlace, limit int,
) ([]sqlsweep.Expired, error) {
	shard := after.ID.Shard()
	rows, err := tx.Query(
		ctx, tx.sql.selectExpired(), tx.shards(shard), before, int16(shard), after.At, after.ID[:],
		int64(after.Superseded), limit,
	)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (e sqlsweep.Expired, err error) {
		var holder []byte
		var shard *int16
		err = row.Scan((*sqlread.ID)(&e.ID), &e.Superseded, (*sqlread.ID)(&e.Run), &e.At, &shard, &holder)
		if shard != nil {
			key := runKeyOf(*shard, holder)
			e.Holder = &key
		}
		return e, err
	})
}

// Linked implements sqlsweep.Tx. The commit of a link locks the row of its callee; a link that waits for the lock finds
// the callee gone. A link that was committed between the begin of Expired's statement and its lock of the row was not
// seen by Expired. Linked is a statement of its own, and sees the link.
func (tx *ownedTx) Linked(ctx context.Context, found []sqlsweep.Expired) (map[journal.RunID]bool, error) {
	k := keysOfRuns(found)
	rows, err := tx.Query(ctx, `
		SELECT e.run FROM unnest($1::int2[], $2::bytea[]) AS f (shard, run) JOIN `+tx.sql.executions+
		` e USING (shard, run)
		WHERE EXISTS (SELECT FROM `+tx.sql.links+` l JOIN `+tx.sql.executions+` p ON p.shard = l.shard AND p.run = l.run
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

// Hold implements sqlsweep.Tx. The rows of the holders are locked first: a holder that ends at the same time has either
// ended before the lock, and holds nothing, or ends after the transaction, and is found by OverHolder.
func (tx *ownedTx) Hold(ctx context.Context, held []sqlsweep.Expired) error {
	if len(held) == 0 {
		return nil
	}
	k := keysOfRuns(held)
	var holders keys
	for _, e := range held {
		holders.addRun(*e.Holder)
	}
	_, err := tx.Exec(ctx, `
		WITH pairs AS (SELECT * FROM unnest($1::int2[], $2::bytea[], $3::int2[], $4::bytea[]) AS p (shard, run,
			holder_shard, holder)),
		alive AS (
			SELECT h.shard, h.run FROM `+tx.sql.executions+` h
			WHERE (h.shard, h.run) IN (SELECT holder_shard, holder FROM pairs) AND h.state NOT IN `+final+
		` FOR NO KEY UPDATE SKIP LOCKED),
		marked AS (UPDATE `+tx.sql.executions+
		` x SET holds = true FROM alive a WHERE x.shard = a.shard AND x.run = a.run AND NOT x.holds)
		UPDATE `+tx.sql.executions+` x SET held_by = a.run
		FROM pairs p JOIN alive a ON a.shard = p.holder_shard AND a.run = p.holder WHERE x.shard = p.shard
			AND x.run = p.run`,
		k.shards, k.ids, holders.shards, holders.ids)
	return err
}

// Retire implements sqlsweep.Tx.
func (tx *ownedTx) Retire(ctx context.Context, gone []sqlsweep.Expired) error {
	if len(gone) == 0 {
		return nil
	}
	k := keysOfRuns(gone)
	sql := tx.sql
	_, err := tx.Exec(ctx,
		`
		WITH gone AS (
			DELETE FROM `+sql.executions+
			` e USING unnest($1::int2[], $2::bytea[]) AS d (shard, run) WHERE e.shard = d.shard AND e.run = d.run
			RETURNING e.shard, e.run, e.id, e.superseded, coalesce(e.chain, e.run) AS chain, e.holds),
		nameless AS (DELETE FROM `+sql.attributes+
			` a USING gone g WHERE g.superseded = 0 AND a.shard = g.shard AND a.id = g.id)
		INSERT INTO `+sql.retired+` AS r (shard, run, id, chain, holds) SELECT shard, run, id, chain, holds FROM gone`+
			retiredBefore,
		k.shards,
		k.ids,
	)
	return err
}

// lockFamily locks the row of a run, and of the run that has started it, in the order of batches:
// see rowLocks.
func (st *statements) lockFamily() string {
	return `SELECT FROM ` + st.executions + ` x WHERE (x.shard, x.run) IN (
			SELECT $1::int2, $2::bytea UNION ALL
			SELECT ` + shardOf("e.parent") + `, e.parent_run FROM ` + st.executions +
		` e WHERE e.shard = $1 AND e.run = $2 AND e.parent IS NOT NULL)
		ORDER BY x.shard, x.id, x.superseded FOR UPDATE`
}

// Finished implements sqlsweep.Tx.
func (tx *ownedTx) Finished(ctx context.Context, id journal.ID, run journal.RunID) (superseded uint64, err error) {
	if _, err := tx.Exec(ctx, tx.sql.lockFamily(), int16(id.Shard()), run[:]); err != nil {
		return 0, err
	}
	err = tx.QueryRow(
		ctx,
		`SELECT superseded FROM `+tx.sql.executions+` WHERE shard = $1 AND run = $2 AND id = $3 AND state IN `+final,
		int16(id.Shard()), run[:], id[:],
	).Scan(&superseded)
	if errors.Is(err, pgx.ErrNoRows) {
		err = journal.ErrNotFound
	}
	return superseded, err
}

// LeaveLink implements sqlsweep.Tx. The run of the step may be of a shard with another owner: as a message does in an
// inbox, the link decides nothing there.
func (tx *ownedTx) LeaveLink(ctx context.Context, run journal.RunKey) error {
	_, err := tx.Exec(ctx,
		`INSERT INTO `+tx.sql.links+` (shard, run, step, callee, callee_run)
		SELECT p.shard, p.run, e.parent_step, e.id, coalesce(e.chain, e.run)
		FROM `+tx.sql.executions+` e JOIN `+tx.sql.executions+` p ON p.shard = `+shardOf("e.parent")+
			` AND p.run = e.parent_run
		WHERE e.shard = $1 AND e.run = $2 AND p.state NOT IN `+final+` FOR KEY SHARE OF p ON CONFLICT DO NOTHING`,
		int16(run.Shard),
		run.Run[:],
	)
	return err
}
