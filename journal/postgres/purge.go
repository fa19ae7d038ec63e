package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/cruster/cruster/journal"
)

// sweepRoom is how much one transaction may still delete.
type sweepRoom struct{ rows, bytes int64 }

func (r *sweepRoom) left() bool { return r.rows > 0 && r.bytes > 0 }

// ownedRows are the rows of a table that belong to a run, a chain or an execution, in the order of
// a key.
type ownedRows struct{ table, owner, key, size string }

// delete deletes them, or as many as there is room for. It reports whether none are left.
func (o *ownedRows) delete(ctx context.Context, tx pgx.Tx, room *sweepRoom, owner ...any) (whole bool, err error) {
	if !room.left() {
		return false, nil
	}
	rows, bytes, more := int64(0), int64(0), false
	limit := append(owner[:len(owner):len(owner)], room.rows, room.bytes)
	err = tx.QueryRow(ctx, o.deleteQuery(len(owner)), limit...).Scan(&rows, &bytes, &more)
	room.rows -= rows
	room.bytes -= bytes
	return !more, err
}

// deleteQuery deletes up to so many rows of an owner, which has so many columns.
//
// By a range, and not by a join: what the planner knows of a table that was just filled may make that
// one a comparison of each row with each. The row that passes the bound of bytes is the last.
func (o *ownedRows) deleteQuery(columns int) string {
	n, m := placeholder(columns+1), placeholder(columns+2)
	next := `SELECT ` + o.key + ` AS key, row_number() OVER before AS place, coalesce(sum(` + o.size + `) OVER before, 0) AS before, ` + o.size + ` AS size
		FROM (SELECT * FROM ` + o.table + ` WHERE ` + o.owner + ` ORDER BY ` + o.key + ` LIMIT ` + n + ` + 1) AS o
		WINDOW before AS (ORDER BY ` + o.key + ` ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)`
	return `
		WITH next AS (` + next + `), cut AS (SELECT * FROM next WHERE place <= ` + n + ` AND before < ` + m + `),
		gone AS (DELETE FROM ` + o.table + ` WHERE ` + o.owner + ` AND ` + o.key + ` <= (SELECT key FROM cut ORDER BY key DESC LIMIT 1))
		SELECT (SELECT count(*) FROM cut), (SELECT coalesce(sum(size), 0)::int8 FROM cut), (SELECT count(*) FROM next) > (SELECT count(*) FROM cut)`
}

// retired is a run that is gone.
type retired struct {
	shard          int16
	run, id, chain []byte // chain is nil if another run has continued it
}

// Purge implements journal.Store.
func (s *Store) Purge(ctx context.Context, own []journal.Fence, limit int) (n int, err error) {
	for more := true; more && n < limit; {
		room := sweepRoom{rows: int64(min(journal.SweepEntries, limit-n)), bytes: journal.SweepBytes}
		before := room.rows
		err := s.fenced(ctx, s.main, own, func(ctx context.Context, tx pgx.Tx) (err error) {
			if more, err = s.purge(ctx, tx, &room); err == nil && !more && room.left() {
				more, err = s.purgeMail(ctx, tx, &room)
			}
			return err
		})
		if err != nil {
			return n, afterCommit("postgres: purge", err)
		}
		n += int(before - room.rows)
	}
	return n, nil
}

// selectRetired finds runs that are gone, and hold nothing.
func (st *statements) selectRetired() string {
	return `SELECT shard, run, id, chain FROM ` + st.retired + ` r WHERE NOT holds
		AND NOT EXISTS (SELECT FROM ` + st.executions + ` e WHERE e.shard = r.shard AND e.run = r.run) LIMIT $1 FOR UPDATE SKIP LOCKED`
}

// purge deletes rows of runs that are gone, and tells whether there may be more.
func (s *Store) purge(ctx context.Context, tx pgx.Tx, room *sweepRoom) (more bool, err error) {
	rows, err := tx.Query(ctx, s.sql.selectRetired(), journal.SweepBatch)
	if err != nil {
		return false, err
	}
	gone, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (r retired, err error) {
		return r, row.Scan(&r.shard, &r.run, &r.id, &r.chain)
	})
	if err != nil {
		return false, err
	}
	for i := range gone {
		whole, err := gone[i].purge(ctx, tx, &s.sql, room)
		if err != nil || !whole {
			return true, err
		}
		room.rows--
		if _, err := tx.Exec(ctx, `DELETE FROM `+s.sql.retired+` WHERE shard = $1 AND run = $2`, gone[i].shard, gone[i].run); err != nil {
			return false, err
		}
	}
	return len(gone) > 0, nil
}

// purgeMail deletes results and requests whose receivers were gone when they came, and tells whether there may be more.
func (s *Store) purgeMail(ctx context.Context, tx pgx.Tx, room *sweepRoom) (more bool, err error) {
	tag, err := tx.Exec(ctx, `DELETE FROM `+s.sql.inbox+` WHERE (shard, id, chain, position) IN (
		SELECT i.shard, i.id, i.chain, i.position FROM `+s.sql.inbox+` i WHERE i.kind IN ('result', 'interrupt', 'terminate') AND NOT EXISTS (
			SELECT FROM `+s.sql.executions+` e WHERE e.shard = i.shard AND e.id = i.id AND coalesce(e.chain, e.run) = i.chain) LIMIT $1)`, room.rows)
	more = tag.RowsAffected() == room.rows
	room.rows -= tag.RowsAffected()
	return more && err == nil, err
}

// purge deletes the rows of a run that is gone, and reports whether none are left.
func (r *retired) purge(ctx context.Context, tx pgx.Tx, sql *statements, room *sweepRoom) (whole bool, err error) {
	for _, rows := range []ownedRows{
		sql.entriesOfRun(),
		{sql.deferreds, ofRun, `name`, `coalesce(octet_length(value), 0) + coalesce(octet_length(error), 0)`},
		{sql.links, ofRun, `step`, `0`},
		{sql.hibernated, ofRun, `run`, `octet_length(body)`},
	} {
		if whole, err := rows.delete(ctx, tx, room, r.shard, r.run); err != nil || !whole {
			return false, err
		}
	}
	if r.chain == nil {
		return true, nil
	}
	published := ownedRows{sql.published, ofRun, `run`, `octet_length(body)`}
	if whole, err := published.delete(ctx, tx, room, r.shard, r.chain); err != nil || !whole {
		return false, err
	}
	inbox := sql.inboxOfChain()
	return inbox.delete(ctx, tx, room, r.shard, r.id, r.chain)
}

// ofRun names the rows of a run.
const ofRun = `shard = $1 AND run = $2`

func (st *statements) entriesOfRun() ownedRows {
	return ownedRows{st.entries, ofRun, `seq`, `octet_length(body)`}
}

func (st *statements) inboxOfChain() ownedRows {
	return ownedRows{st.inbox, `shard = $1 AND id = $2 AND chain = $3`, `position`, `bytes`}
}
