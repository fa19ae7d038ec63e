package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

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
	examined := 0
	for more := true; more && n < limit; {
		room := sweepRoom{rows: int64(min(journal.SweepEntries, limit-n)), bytes: journal.SweepBytes}
		before := room.rows
		err := s.owned(ctx, s.main, own, func(ctx context.Context, tx *ownedTx) (err error) {
			if more, err = s.purge(ctx, tx, &room); err != nil || more || !room.left() || examined >= journal.PurgeExamines {
				return err
			}
			var seen int
			seen, more, err = s.purgeMail(ctx, tx, &room)
			examined += seen
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
	return `SELECT r.* FROM unnest($1::int2[]) AS s (shard) CROSS JOIN LATERAL (
			SELECT x.shard, x.run, x.id, x.chain FROM ` + st.retired + ` x WHERE x.shard = s.shard AND NOT x.holds
				AND NOT EXISTS (SELECT FROM ` + st.executions + ` e WHERE e.shard = x.shard AND e.run = x.run` + lookUp + ` LIMIT $2 FOR UPDATE SKIP LOCKED) AS r
		LIMIT $2`
}

// purge deletes rows of runs that are gone, and tells whether there may be more.
func (s *Store) purge(ctx context.Context, tx *ownedTx, room *sweepRoom) (more bool, err error) {
	rows, err := tx.Query(ctx, s.sql.selectRetired(), tx.shards(0), journal.SweepBatch)
	if err != nil {
		return false, err
	}
	var shards []int16
	gone, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (r retired, err error) {
		err = row.Scan(&r.shard, &r.run, &r.id, &r.chain)
		shards = append(shards, r.shard)
		return r, err
	})
	if err == nil {
		err = tx.check(ctx, shards...)
	}
	if err != nil {
		return false, err
	}
	for i := range gone {
		whole, err := gone[i].purge(ctx, tx, &s.sql, room)
		if err != nil || !whole || !room.left() {
			return true, err
		}
		room.rows--
		if _, err := tx.Exec(ctx, `DELETE FROM `+s.sql.retired+` WHERE shard = $1 AND run = $2`, gone[i].shard, gone[i].run); err != nil {
			return false, err
		}
	}
	return len(gone) > 0, nil
}

// selectMail lists results and requests behind a place, each with whether its receiver is there.
func (st *statements) selectMail() string {
	return `SELECT i.id, i.chain, i.position, EXISTS (
			SELECT FROM ` + st.executions + ` e WHERE e.shard = i.shard AND e.id = i.id AND coalesce(e.chain, e.run) = i.chain` + lookUp + `
		FROM unnest($1::int2[]) AS s (shard) CROSS JOIN LATERAL (
			SELECT x.shard, x.id, x.chain, x.position FROM ` + st.inbox + ` x WHERE x.shard = s.shard AND x.kind IN ('result', 'interrupt', 'terminate')
				AND (x.id, x.chain, x.position) > (` + fromPlace("$4::bytea", "''") + `, ` + fromPlace("$5::bytea", "''") + `, ` + fromPlace("$6::int8", "0") + `)
			ORDER BY x.id, x.chain, x.position LIMIT $2) AS i
		LIMIT $2`
}

// purgeMail looks at a few results and requests, behind those that were looked at last, and deletes those whose receivers were gone when
// they came. It returns how many it has looked at, and whether there are more. There is a result for each caller that has not
// taken it yet: to look at all of them each time would leave time for little else.
func (s *Store) purgeMail(ctx context.Context, tx *ownedTx, room *sweepRoom) (seen int, more bool, err error) {
	s.mu.Lock()
	after := s.purged
	s.mu.Unlock()
	limit := int(room.rows)
	shard := after.to.ID.Shard()
	rows, err := tx.Query(ctx, s.sql.selectMail(), tx.shards(shard), room.rows, int16(shard), after.to.ID[:], chainColumn(after.to.Chain), int64(after.position))
	if err != nil {
		return 0, false, err
	}
	var id, chain []byte
	var lost takeRows
	var position int64
	var there bool
	_, err = pgx.ForEachRow(rows, []any{&id, &chain, &position, &there}, func() error {
		seen++
		after = place{receiverOf(id, chain), uint64(position)}
		if !there {
			lost.add(after.to, after.position)
		}
		return nil
	})
	if more = seen == limit; !more {
		after = place{} // from the beginning
	}
	if err == nil && lost.len() > 0 {
		if err = tx.check(ctx, lost.shards...); err == nil {
			var tag pgconn.CommandTag
			tag, err = tx.Exec(ctx, `DELETE FROM `+s.sql.inbox+` i USING unnest($1::int2[], $2::bytea[], $3::bytea[], $4::int8[]) AS d (shard, id, chain, position)
				WHERE i.shard = d.shard AND i.id = d.id AND i.chain = d.chain AND i.position = d.position`, lost.shards, lost.ids, lost.chains, lost.positions)
			room.rows -= tag.RowsAffected()
		}
	}
	if err == nil {
		s.mu.Lock()
		s.purged = after
		s.mu.Unlock()
	}
	return seen, more, err
}

// purge deletes the rows of a run that is gone, and reports whether none are left.
func (r *retired) purge(ctx context.Context, tx pgx.Tx, sql *statements, room *sweepRoom) (whole bool, err error) {
	for _, rows := range []ownedRows{
		sql.entriesOfRun(),
		{sql.links, ofRun, `step`, `0`},
		{sql.hibernated, ofRun, `run`, `octet_length(body)`},
	} {
		if whole, err := rows.delete(ctx, tx, room, r.shard, r.run); err != nil || !whole {
			return false, err
		}
	}
	inbox, settlements := sql.inboxOf(), journal.SettlementsOf(journal.ID{}, journal.RunID(r.run))
	whole, err = inbox.delete(ctx, tx, room, r.shard, r.id, settlements.Chain[:])
	if err != nil || !whole || r.chain == nil {
		return whole, err
	}
	published := ownedRows{sql.published, ofRun, `run`, `octet_length(body)`}
	if whole, err := published.delete(ctx, tx, room, r.shard, r.chain); err != nil || !whole {
		return false, err
	}
	return inbox.delete(ctx, tx, room, r.shard, r.id, r.chain)
}

// ofRun names the rows of a run.
const ofRun = `shard = $1 AND run = $2`

func (st *statements) entriesOfRun() ownedRows {
	return ownedRows{st.entries, ofRun, `seq`, `octet_length(body)`}
}

func (st *statements) inboxOf() ownedRows {
	return ownedRows{st.inbox, `shard = $1 AND id = $2 AND chain = $3`, `position`, `bytes`}
}
