package sqlite

import (
	"context"
	"fmt"
	"math"

	"zombiezen.com/go/sqlite"

	"github.com/cruster/cruster/journal"
)

// Receipts of steps of a run that is not over are kept, however many and however old they
// are. A sweep that meets one takes it out of the index that sweeps walk through, as it
// does with executions: see sweepexecutions.go.
const (
	selectOldReceipts = `SELECT at, id, origin, sender, sender_run, step, coalesce(length(value), 0) FROM cruster_receipts
		WHERE held = 0 AND at < ?1 AND (at, id, origin) > (?2, ?3, ?4) ORDER BY at, id, origin LIMIT ?5`
	deleteReceipt      = "DELETE FROM cruster_receipts WHERE shard = ?1 AND id = ?2 AND origin = ?3"
	deleteReceipts     = "DELETE FROM cruster_receipts WHERE held = 0 AND (at, id, origin) > (?1, ?2, ?3) AND (at, id, origin) <= (?4, ?5, ?6)"
	selectHeldReceipts = "SELECT id, origin FROM cruster_receipts WHERE held = 1 AND sender_run = ?1 LIMIT ?2"
	selectLiveRun      = `SELECT 1 FROM cruster_executions WHERE shard = ?1 AND run = ?2 AND state NOT IN ('completed', 'failed', 'interrupted')`
)

// receiptPlace is where a receipt stands in the order of a sweep.
type receiptPlace struct {
	at     int64
	id     journal.ID
	origin journal.Origin
}

// oldReceipt is a receipt whose time is over.
type oldReceipt struct {
	receiptPlace
	from  journal.Caller
	bytes int
}

// SweepReceipts implements journal.Store.
func (s *Store) SweepReceipts(ctx context.Context, own []journal.Fence, before int64, limit int) (int, error) {
	w := &sweep{store: s, before: before, left: max(limit, 0), afterReceipt: receiptPlace{at: math.MinInt64}}
	if err := w.run(ctx, own, w.free, w.deleteReceipts); err != nil {
		return 0, fmt.Errorf("sqlite: sweep receipts: %w", err)
	}
	return max(limit, 0) - w.left, nil
}

// deleteReceipts looks at some receipts, and deletes those that no step may ask for: all of the range that are not held then, in
// one statement. A range ends before a receipt of a shard that is another's.
func (w *sweep) deleteReceipts(tx *ownedTx) (more bool, err error) {
	limit := min(w.left, journal.SweepEntries)
	found, err := w.oldReceipts(tx.Conn, limit)
	bytes, begin := 0, w.afterReceipt
	more = len(found) == limit
	for _, r := range found {
		if err != nil {
			return false, err
		}
		if bytes > journal.SweepBytes {
			more = true
			break
		}
		if !tx.own.Has(r.id.Shard()) {
			err = w.deleteRange(tx.Conn, begin)
			w.afterReceipt, begin = r.receiptPlace, r.receiptPlace
			continue
		}
		w.afterReceipt = r.receiptPlace
		live := false
		if err = tx.check(r.id.Shard()); err == nil {
			live, err = isLive(tx.Conn, r.from)
		}
		if err == nil && live {
			err = holdReceipt(tx.Conn, r)
		}
		bytes += r.bytes
	}
	if err == nil {
		err = w.deleteRange(tx.Conn, begin)
	}
	return more, err
}

// deleteRange deletes the receipts from behind a place on, up to the last that was looked at.
func (w *sweep) deleteRange(conn *sqlite.Conn, begin receiptPlace) error {
	last := &w.afterReceipt
	err := exec(conn, deleteReceipts, begin.at, begin.id[:], begin.origin, last.at, last.id[:], last.origin)
	w.left -= conn.Changes()
	return err
}

func (w *sweep) oldReceipts(conn *sqlite.Conn, limit int) ([]oldReceipt, error) {
	scan := func(row *sqlite.Stmt) (oldReceipt, error) {
		r := oldReceipt{receiptPlace: receiptPlace{at: row.ColumnInt64(0), id: columnID(row, 1)}, from: columnCaller(row, 3), bytes: row.ColumnInt(6)}
		row.ColumnBytes(2, r.origin[:])
		return r, nil
	}
	after := &w.afterReceipt
	return selectAll(conn, scan, selectOldReceipts, w.before, after.at, after.id[:], after.origin, limit)
}

// isLive tells whether the run of a step is not over.
func isLive(conn *sqlite.Conn, step journal.Caller) (live bool, err error) {
	if step.IsZero() {
		return false, nil
	}
	found, err := selectOne(conn, scanInt, selectLiveRun, journal.KeyOf(step.ID, step.Run))
	return found != nil, err
}

// holdReceipt keeps retention from looking at a receipt again until its sender is over.
func holdReceipt(conn *sqlite.Conn, r oldReceipt) error {
	if err := exec(conn, "UPDATE cruster_receipts SET held = 1 WHERE shard = ?1 AND id = ?2 AND origin = ?3", r.id, r.origin); err != nil {
		return err
	}
	return markHolder(conn, updateHolder, journal.KeyOf(r.from.ID, r.from.Run), true)
}

// freeReceipts gives back to retention what an execution that is over has held.
func freeReceipts(conn *sqlite.Conn, holder journal.RunID) (n int, err error) {
	held, err := selectAll(conn, func(row *sqlite.Stmt) (receiptPlace, error) {
		r := receiptPlace{id: columnID(row, 0)}
		row.ColumnBytes(1, r.origin[:])
		return r, nil
	}, selectHeldReceipts, holder, journal.SweepBatch)
	for _, r := range held {
		if err == nil {
			err = exec(conn, "UPDATE cruster_receipts SET held = 0 WHERE shard = ?1 AND id = ?2 AND origin = ?3", r.id, r.origin)
		}
	}
	return len(held), err
}
