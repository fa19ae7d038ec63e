package sqlite

import (
	"context"
	"encoding/hex"
	"strconv"
	"strings"

	"zombiezen.com/go/sqlite"

	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/journal/sqlsweep"
)

const (
	selectOverHolder    = "SELECT shard, run FROM cruster_executions WHERE holds = 1 AND finished_at > 0"
	updateHolder        = "UPDATE cruster_executions SET holds = ?3 WHERE shard = ?1 AND run = ?2 AND holds <> ?3"
	selectRetiredHolder = "SELECT shard, run FROM cruster_retired WHERE holds = 1"
	updateRetiredHolder = "UPDATE cruster_retired SET holds = ?3 WHERE shard = ?1 AND run = ?2"

	selectHeld = "SELECT shard, run FROM cruster_executions WHERE held_by = ?1 LIMIT +?2"
	updateHeld = "UPDATE cruster_executions SET held_by = ?3 WHERE shard = ?1 AND run = ?2"

	selectExpired = `SELECT e.id, e.superseded, e.run, e.finished_at, coalesce(
		(SELECT p.shard || ' ' || hex(p.run) FROM cruster_executions p
			WHERE p.shard = e.parent_shard AND p.run = e.parent_run AND p.state NOT IN ` + final + `),
		(SELECT p.shard || ' ' || hex(p.run) FROM cruster_links l JOIN cruster_executions p ON p.shard = l.shard
			AND p.run = l.run
			WHERE l.callee_run = coalesce(e.chain, e.run) AND p.state NOT IN ` + final + ` LIMIT 1))
	FROM cruster_executions e
	WHERE e.finished_at > 0 AND e.held_by IS NULL AND e.holds = 0 AND e.finished_at < ?1
		AND (e.finished_at, e.id, e.superseded) > (?2, ?3, ?4)
		AND e.state IN ` + final + `
	ORDER BY e.finished_at, e.id, e.superseded LIMIT +?5`
)

// OverHolder implements sqlsweep.Tx.
func (tx *ownedTx) OverHolder(context.Context) (holder *sqlsweep.Holder, err error) {
	for _, query := range []string{selectOverHolder, selectRetiredHolder} {
		err := run(tx.conn, query, nil, func(row *sqlite.Stmt) error {
			if key := columnRunKey(row, 0); tx.own.Has(key.Shard) {
				holder = &sqlsweep.Holder{RunKey: key, Retired: query == selectRetiredHolder}
				return errEnough
			}
			return nil
		})
		if err != nil || holder != nil {
			return holder, err
		}
	}
	return nil, nil //nolint:nilnil // there is none
}

// Free implements sqlsweep.Tx.
func (tx *ownedTx) Free(_ context.Context, h *sqlsweep.Holder, limit int) (more bool, err error) {
	scan := func(row *sqlite.Stmt) (journal.RunKey, error) { return columnRunKey(row, 0), nil }
	held, err := selectAll(tx.conn, scan, selectHeld, h.Run, limit)
	for _, key := range held {
		if err == nil {
			err = exec(tx.conn, updateHeld, key, nil)
		}
	}
	if err != nil {
		return false, err
	}
	receipts, err := tx.freeReceipts(h.Run, limit)
	return len(held) == limit || receipts == limit, err
}

// ClearHolder implements sqlsweep.Tx.
func (tx *ownedTx) ClearHolder(_ context.Context, h *sqlsweep.Holder) error {
	if h.Retired {
		return exec(tx.conn, updateRetiredHolder, h.RunKey, false)
	}
	return exec(tx.conn, updateHolder, h.RunKey, false)
}

// Expired implements sqlsweep.Tx.
func (tx *ownedTx) Expired(
	_ context.Context, before int64, after sqlsweep.RunPlace, limit int,
) ([]sqlsweep.Expired, error) {
	return selectAll(tx.conn, scanExpired, selectExpired, before, after.At, after.ID[:], after.Superseded, limit)
}

func scanExpired(row *sqlite.Stmt) (e sqlsweep.Expired, err error) {
	e.RunPlace = sqlsweep.RunPlace{At: row.ColumnInt64(3), ID: columnID(row, 0), Superseded: uint64(row.ColumnInt64(1))}
	row.ColumnBytes(2, e.Run[:])
	if !row.ColumnIsNull(4) {
		e.Holder, err = parseHolder(row.ColumnText(4))
	}
	return e, err
}

// parseHolder reads the key of a run as selectExpired writes it: a subquery has one column.
func parseHolder(text string) (*journal.RunKey, error) {
	shard, run, _ := strings.Cut(text, " ")
	number, err := strconv.ParseUint(shard, 10, 16)
	if err != nil {
		return nil, err
	}
	key := &journal.RunKey{Shard: journal.Shard(number)}
	_, err = hex.Decode(key.Run[:], []byte(run))
	return key, err
}

// Linked implements sqlsweep.Tx: the writer is alone.
func (tx *ownedTx) Linked(context.Context, []sqlsweep.Expired) (map[journal.RunID]bool, error) {
	return nil, nil
}

// Hold implements sqlsweep.Tx.
func (tx *ownedTx) Hold(_ context.Context, held []sqlsweep.Expired) error {
	for i := range held {
		if err := exec(tx.conn, updateHeld, held[i].Key(), held[i].Holder.Run); err != nil {
			return err
		}
		if err := exec(tx.conn, updateHolder, *held[i].Holder, true); err != nil {
			return err
		}
	}
	return nil
}

// Retire implements sqlsweep.Tx.
func (tx *ownedTx) Retire(_ context.Context, gone []sqlsweep.Expired) error {
	for i := range gone {
		if gone[i].Superseded == 0 {
			if err := exec(
				tx.conn, "DELETE FROM cruster_attributes WHERE shard = ?1 AND id = ?2", gone[i].ID,
			); err != nil {
				return err
			}
		}
		for _, query := range []string{retireWhole, "DELETE FROM cruster_executions WHERE shard = ?1 AND run = ?2"} {
			if err := exec(tx.conn, query, gone[i].Key()); err != nil {
				return err
			}
		}
	}
	return nil
}

// retireWhole leaves the rows of a run and of its chain to Purge. A store may have rows of a run
// that was started twice, from before that was refused: then there may be a row of it already.
const retireWhole = `INSERT INTO cruster_retired (shard, run, id, chain, holds)
	SELECT shard, run, id, coalesce(chain, run), holds FROM cruster_executions WHERE shard = ?1 AND run = ?2` +
	retiredBefore

// retiredBefore adds to the row of a run that was retired before.
const retiredBefore = ` ON CONFLICT (shard, run) DO UPDATE SET chain = coalesce(chain, excluded.chain),
	holds = max(holds, excluded.holds)`

// Finished implements sqlsweep.Tx.
func (tx *ownedTx) Finished(_ context.Context, id journal.ID, run journal.RunID) (uint64, error) {
	superseded, err := selectOne(tx.conn, scanInt, `SELECT superseded FROM cruster_executions
		WHERE shard = ?1 AND run = ?2 AND id = ?3 AND state IN `+final, journal.KeyOf(id, run), id[:])
	if err == nil && superseded == nil {
		err = journal.ErrNotFound
	}
	if err != nil {
		return 0, err
	}
	return uint64(*superseded), nil
}

// LeaveLink implements sqlsweep.Tx.
func (tx *ownedTx) LeaveLink(_ context.Context, run journal.RunKey) error {
	return exec(tx.conn, `INSERT OR IGNORE INTO cruster_links (shard, run, step, callee, callee_run)
		SELECT p.shard, p.run, e.parent_step, e.id, coalesce(e.chain, e.run)
		FROM cruster_executions e JOIN cruster_executions p ON p.shard = e.parent_shard AND p.run = e.parent_run
		WHERE e.shard = ?1 AND e.run = ?2 AND p.state NOT IN `+final, run)
}
