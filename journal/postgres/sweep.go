package postgres

import (
	"context"
	"errors"

	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/journal/sqlread"
	"github.com/cruster/cruster/journal/sqlsweep"
)

// final are the states of executions that have ended.
const final = sqlread.Final

// swept is the store as sweeps see it. Rows that a commit holds at this moment are left for the next time.
type swept struct{ store *Store }

// sweepFailed gives an error of a sweep its form. A refusal of the owner, or of a run that is not there, was decided
// before a COMMIT.
func sweepFailed(op string, err error) error {
	if errors.Is(err, journal.ErrFenced) || errors.Is(err, journal.ErrNotFound) {
		return beforeCommit("postgres: "+op, err)
	}
	return afterCommit("postgres: "+op, err)
}

// fromPlace is where the rows of a shard begin, of a scan that has come to shard $3: behind a place in that one, and at
// the beginning of all others.
func fromPlace(place, beginning string) string {
	return `CASE WHEN s.shard = $3::int2 THEN ` + place + ` ELSE ` + beginning + ` END`
}

// DeleteRows implements sqlsweep.Tx.
func (tx *ownedTx) DeleteRows(ctx context.Context, rows *sqlsweep.Rows, room *sqlsweep.Room) (whole bool, err error) {
	if rows.Table == "inputs" {
		return true, nil // an input stands in the row of its run
	}
	if room.Rows <= 0 || room.Bytes <= 0 {
		return false, nil
	}
	args := []any{int16(rows.Shard)}
	for _, column := range rows.Owner {
		args = append(args, column.Value)
	}
	deleted, bytes, more := int64(0), int64(0), false
	err = tx.QueryRow(ctx, tx.sql.deleteRows(rows), append(args, room.Rows, room.Bytes)...).Scan(
		&deleted, &bytes, &more,
	)
	room.Rows -= deleted
	room.Bytes -= bytes
	return !more, err
}

// deleteRows deletes up to so many rows of an owner.
//
// By a range, and not by a join: the planner's statistics of a table that was just filled may make
// a join a comparison of each row with each. The row that passes the bound of bytes is the last.
func (st *statements) deleteRows(rows *sqlsweep.Rows) string {
	table, owner, size := st.table(rows.Table), rows.Condition(`$`), rows.Bytes(`octet_length`)
	n, m := placeholder(len(rows.Owner)+2), placeholder(len(rows.Owner)+3)
	next := `SELECT ` + rows.Key + ` AS key, row_number() OVER before AS place, coalesce(sum(` + size +
		`) OVER before, 0) AS before, ` + size + ` AS size
		FROM (SELECT * FROM ` + table + ` WHERE ` + owner + ` ORDER BY ` + rows.Key + ` LIMIT ` + n + ` + 1) AS o
		WINDOW before AS (ORDER BY ` + rows.Key + ` ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)`
	return `
		WITH next AS (` + next + `), cut AS (SELECT * FROM next WHERE place <= ` + n + ` AND before < ` + m + `),
		gone AS (DELETE FROM ` + table + ` WHERE ` + owner + ` AND ` + rows.Key +
		` <= (SELECT key FROM cut ORDER BY key DESC LIMIT 1))
		SELECT (SELECT count(*) FROM cut), (SELECT coalesce(sum(size), 0)::int8 FROM cut), (SELECT count(*)
			FROM next) > (SELECT count(*) FROM cut)`
}

// keysOfRuns are the keys of runs as columns.
func keysOfRuns(runs []sqlsweep.Expired) (k keys) {
	for i := range runs {
		k.addRun(runs[i].Key())
	}
	return k
}
