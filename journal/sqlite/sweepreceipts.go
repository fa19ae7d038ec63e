package sqlite

import (
	"context"

	"zombiezen.com/go/sqlite"

	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/journal/sqlsweep"
)

const (
	selectOldReceipts = `SELECT at, id, origin, sender, sender_run, step, coalesce(length(value), 0)
		FROM cruster_receipts
		WHERE held = 0 AND at < ?1 AND (at, id, origin) > (?2, ?3, ?4) ORDER BY at, id, origin LIMIT +?5`
	deleteReceipt  = "DELETE FROM cruster_receipts WHERE shard = ?1 AND id = ?2 AND origin = ?3"
	deleteReceipts = "DELETE FROM cruster_receipts WHERE held = 0 AND (at, id, origin) >= (?1, ?2, ?3) AND (at, " +
		"id, origin) <= (?4, ?5, ?6)"
	selectHeldReceipts = "SELECT id, origin FROM cruster_receipts WHERE held = 1 AND sender_run = ?1 LIMIT +?2"
	updateHeldReceipt  = "UPDATE cruster_receipts SET held = ?4 WHERE shard = ?1 AND id = ?2 AND origin = ?3"
	selectLiveRun      = "SELECT 1 FROM cruster_executions WHERE shard = ?1 AND run = ?2 AND state NOT IN " + final
)

// OldReceipts implements sqlsweep.Tx.
func (tx *ownedTx) OldReceipts(
	_ context.Context, before int64, after sqlsweep.ReceiptPlace, limit int,
) ([]sqlsweep.OldReceipt, error) {
	scan := func(row *sqlite.Stmt) (sqlsweep.OldReceipt, error) {
		r := sqlsweep.OldReceipt{From: columnCaller(row, 3), Bytes: row.ColumnInt64(6)}
		r.At, r.ID = row.ColumnInt64(0), columnID(row, 1)
		row.ColumnBytes(2, r.Origin[:])
		return r, nil
	}
	found, err := selectAll(tx.conn, scan, selectOldReceipts, before, after.At, after.ID[:], after.Origin, limit)
	for i := range found {
		if err != nil {
			return nil, err
		}
		found[i].Live, err = isLive(tx.conn, found[i].From)
	}
	return found, err
}

// isLive tells whether the run of a step is not over.
func isLive(conn *sqlite.Conn, step journal.Caller) (live bool, err error) {
	if step.IsZero() {
		return false, nil
	}
	found, err := selectOne(conn, scanInt, selectLiveRun, journal.KeyOf(step.ID, step.Run))
	return found != nil, err
}

// HoldReceipts implements sqlsweep.Tx.
func (tx *ownedTx) HoldReceipts(_ context.Context, held []sqlsweep.OldReceipt) error {
	for i := range held {
		r := &held[i]
		if err := exec(tx.conn, updateHeldReceipt, r.ID, r.Origin, true); err != nil {
			return err
		}
		if err := exec(tx.conn, updateHolder, journal.KeyOf(r.From.ID, r.From.Run), true); err != nil {
			return err
		}
	}
	return nil
}

// DeleteReceipts implements sqlsweep.Tx, in one statement.
func (tx *ownedTx) DeleteReceipts(_ context.Context, free []sqlsweep.OldReceipt) (int, error) {
	if len(free) == 0 {
		return 0, nil
	}
	first, last := &free[0], &free[len(free)-1]
	err := exec(tx.conn, deleteReceipts, first.At, first.ID[:], first.Origin, last.At, last.ID[:], last.Origin)
	return tx.conn.Changes(), err
}

// freeReceipts frees receipts of the messages that a run has sent.
func (tx *ownedTx) freeReceipts(sender journal.RunID, limit int) (n int, err error) {
	scan := func(row *sqlite.Stmt) (r sqlsweep.ReceiptPlace, _ error) {
		r.ID = columnID(row, 0)
		row.ColumnBytes(1, r.Origin[:])
		return r, nil
	}
	held, err := selectAll(tx.conn, scan, selectHeldReceipts, sender, limit)
	for _, r := range held {
		if err == nil {
			err = exec(tx.conn, updateHeldReceipt, r.ID, r.Origin, false)
		}
	}
	return len(held), err
}
