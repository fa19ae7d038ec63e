package sqlite

import (
	"context"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"zombiezen.com/go/sqlite"

	"github.com/cruster/cruster/journal"
)

// Retention must not delete what a live execution may still ask for: a child of it,
// or one that it is linked to. The naive sweep looks for the oldest that no live
// execution needs, and so walks over all that are needed, again at each page: a parent
// of a million children costs a million lookups a time, while the journal waits.
//
// Instead, a sweep that meets an execution which is needed writes down by which run
// (held_by) and that this one holds others (holds). Both take a row out of the index
// that sweeps walk through. When the holder is over, its row comes into the index of
// holders by itself; the next sweep frees what it held. So each execution is looked at
// once, and once more for each holder that it had.
const (
	selectOverHolder = "SELECT shard, run FROM cruster_executions WHERE holds = 1 AND finished_at > 0"
	updateHolder     = "UPDATE cruster_executions SET holds = ?3 WHERE shard = ?1 AND run = ?2 AND holds <> ?3"
	// A run may be gone before what it holds is freed.
	selectRetiredHolder = "SELECT shard, run FROM cruster_retired WHERE holds = 1"
	updateRetiredHolder = "UPDATE cruster_retired SET holds = ?3 WHERE shard = ?1 AND run = ?2"

	selectHeld = "SELECT shard, run FROM cruster_executions WHERE held_by = ?1 LIMIT ?2"

	// selectExpired finds what may be deleted, oldest first, each with a run that is alive
	// and may ask for it.
	selectExpired = `SELECT e.id, e.superseded, e.run, e.finished_at, coalesce(
		(SELECT p.shard || ' ' || hex(p.run) FROM cruster_executions p
			WHERE p.shard = e.parent_shard AND p.run = e.parent_run AND p.state NOT IN ('completed', 'failed', 'interrupted')),
		(SELECT p.shard || ' ' || hex(p.run) FROM cruster_links l JOIN cruster_executions p ON p.shard = l.shard AND p.run = l.run
			WHERE l.callee_run = coalesce(e.chain, e.run) AND p.state NOT IN ('completed', 'failed', 'interrupted') LIMIT 1))
	FROM cruster_executions e
	WHERE e.finished_at > 0 AND e.held_by IS NULL AND e.holds = 0 AND e.finished_at < ?1 AND (e.finished_at, e.id, e.superseded) > (?2, ?3, ?4)
		AND e.state IN ('completed', 'failed', 'interrupted')
	ORDER BY e.finished_at, e.id, e.superseded LIMIT ?5`
)

// sweep is a sweep under way: a row of transactions, between which others have their
// turn.
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
		return 0, fmt.Errorf("sqlite: sweep: %w", err)
	}
	return max(limit, 0) - w.left, nil
}

// run repeats each step, in transactions of its own, until there is no more to do.
func (w *sweep) run(ctx context.Context, own []journal.Fence, steps ...func(*ownedTx) (bool, error)) error {
	for _, step := range steps {
		for more := true; more && w.left > 0; {
			err := w.store.writeOwned(ctx, own, func(tx *ownedTx) (err error) {
				more, err = step(tx)
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
func (w *sweep) free(tx *ownedTx) (more bool, err error) {
	conn := tx.Conn
	for _, holders := range []struct{ find, update string }{{selectOverHolder, updateHolder}, {selectRetiredHolder, updateRetiredHolder}} {
		var holder *journal.RunKey
		err := run(conn, holders.find, nil, func(row *sqlite.Stmt) error {
			if key := columnRunKey(row, 0); tx.own.Has(key.Shard) {
				holder = &key
				return errEnough
			}
			return nil
		})
		if err != nil {
			return false, err
		}
		if holder == nil {
			continue
		}
		if err := tx.check(holder.Shard); err != nil {
			return false, err
		}
		executions, err := freeExecutions(conn, holder.Run)
		if err != nil {
			return false, err
		}
		receipts, err := freeReceipts(conn, holder.Run)
		if err == nil && executions < journal.SweepBatch && receipts < journal.SweepBatch {
			err = markHolder(conn, holders.update, *holder, false)
		}
		return true, err
	}
	return false, nil
}

// markHolder notes whether a run holds others.
func markHolder(conn *sqlite.Conn, query string, of journal.RunKey, holds bool) error {
	return exec(conn, query, of, holds)
}

func columnRunKey(row *sqlite.Stmt, col int) (key journal.RunKey) {
	key.Shard = journal.Shard(row.ColumnInt64(col))
	row.ColumnBytes(col+1, key.Run[:])
	return key
}

func freeExecutions(conn *sqlite.Conn, holder journal.RunID) (n int, err error) {
	held, err := selectAll(conn, func(row *sqlite.Stmt) (journal.RunKey, error) { return columnRunKey(row, 0), nil }, selectHeld, holder, journal.SweepBatch)
	for _, key := range held {
		if err == nil {
			err = exec(conn, "UPDATE cruster_executions SET held_by = NULL WHERE shard = ?1 AND run = ?2", key)
		}
	}
	return len(held), err
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
func (w *sweep) delete(tx *ownedTx) (more bool, err error) {
	conn := tx.Conn
	found, err := w.expired(conn)
	if err != nil {
		return false, err
	}
	room := sweepRoom{rows: journal.SweepEntries, bytes: journal.SweepBytes}
	for _, e := range found {
		if !tx.own.Has(e.id.Shard()) {
			w.after = e
			continue
		}
		if err := tx.check(e.id.Shard()); err != nil {
			return false, err
		}
		if e.holder != nil {
			if err := hold(conn, e); err != nil {
				return false, err
			}
			w.after = e
			continue
		}
		whole, err := deleteRun(conn, e, &room)
		if err != nil {
			return false, err
		}
		if !whole { // it goes on with this one
			return true, nil
		}
		w.left--
		w.after = e
	}
	return len(found) > 0, nil
}

func (w *sweep) expired(conn *sqlite.Conn) ([]expired, error) {
	scan := func(row *sqlite.Stmt) (expired, error) {
		e := expired{id: columnID(row, 0), superseded: row.ColumnInt64(1), at: row.ColumnInt64(3)}
		row.ColumnBytes(2, e.run[:])
		if !row.ColumnIsNull(4) {
			holder, err := parseHolder(row.ColumnText(4))
			if err != nil {
				return e, err
			}
			e.holder = &holder
		}
		return e, nil
	}
	return selectAll(conn, scan, selectExpired, w.before, w.after.at, w.after.id[:], w.after.superseded, min(w.left, journal.SweepBatch))
}

// parseHolder reads the key of a run as selectExpired writes it: a row of SQL has no room for two
// columns of a subquery.
func parseHolder(text string) (key journal.RunKey, err error) {
	shard, run, _ := strings.Cut(text, " ")
	number, err := strconv.ParseUint(shard, 10, 16)
	if err != nil {
		return key, err
	}
	key.Shard = journal.Shard(number)
	_, err = hex.Decode(key.Run[:], []byte(run))
	return key, err
}

// hold keeps retention from looking at a run again until its holder is over.
func hold(conn *sqlite.Conn, e expired) error {
	err := exec(conn, "UPDATE cruster_executions SET held_by = ?3 WHERE shard = ?1 AND run = ?2", journal.KeyOf(e.id, e.run), e.holder.Run)
	if err != nil {
		return err
	}
	return markHolder(conn, updateHolder, *e.holder, true)
}

// deleteRun deletes the row of a run, and leaves the rest to Purge. With the current run go the
// attributes of its execution, which would find it, and the receipts, which a next run would take for
// its own. Receipts may be many: it reports false if some are left, and then the run, too.
func deleteRun(conn *sqlite.Conn, e expired, room *sweepRoom) (whole bool, err error) {
	of := journal.KeyOf(e.id, e.run)
	if e.superseded == 0 {
		receipts := ownedRows{"cruster_receipts", "shard = ?1 AND id = ?2", "origin", "coalesce(length(value), 0)"}
		if whole, err := receipts.delete(conn, values(e.id), room); err != nil || !whole {
			return false, err
		}
		if err := exec(conn, "DELETE FROM cruster_attributes WHERE shard = ?1 AND id = ?2", e.id); err != nil {
			return false, err
		}
	}
	for _, query := range []string{
		retireWhole,
		"DELETE FROM cruster_executions WHERE shard = ?1 AND run = ?2",
	} {
		if err := exec(conn, query, of); err != nil {
			return false, err
		}
	}
	return true, nil
}

// retireWhole leaves to Purge what a run has, and what its chain has in common. A store may have rows of a run that was started
// twice, from before that was refused: then there may be a row of it already.
const retireWhole = `INSERT INTO cruster_retired (shard, run, id, chain, holds)
	SELECT shard, run, id, coalesce(chain, run), holds FROM cruster_executions WHERE shard = ?1 AND run = ?2` + retiredBefore

// retiredBefore adds to the row of a run that was retired before.
const retiredBefore = ` ON CONFLICT (shard, run) DO UPDATE SET chain = coalesce(chain, excluded.chain), holds = max(holds, excluded.holds)`

// leaveLink has the step that started a run find that the run was deleted, if the run of the step
// is not over.
const leaveLink = `INSERT OR IGNORE INTO cruster_links (shard, run, step, callee, callee_run)
	SELECT p.shard, p.run, e.parent_step, e.id, coalesce(e.chain, e.run)
	FROM cruster_executions e JOIN cruster_executions p ON p.shard = e.parent_shard AND p.run = e.parent_run
	WHERE e.shard = ?1 AND e.run = ?2 AND p.state NOT IN ('completed', 'failed', 'interrupted')`

// Delete implements journal.Store.
func (s *Store) Delete(ctx context.Context, f journal.Fence, id journal.ID, of journal.RunID, superseded uint64) error {
	for whole := false; !whole; {
		err := s.write(ctx, func(conn *sqlite.Conn) error {
			if err := checkFence(conn, f, id.Shard()); err != nil {
				return err
			}
			e, err := finishedRun(conn, id, of, superseded)
			if err != nil {
				return err
			}
			if err := exec(conn, leaveLink, journal.KeyOf(id, of)); err != nil {
				return err
			}
			whole, err = deleteRun(conn, e, &sweepRoom{rows: journal.SweepEntries, bytes: journal.SweepBytes})
			return err
		})
		if err != nil {
			return fmt.Errorf("sqlite: delete run %s of execution %s: %w", of, id, err)
		}
	}
	return nil
}

// finishedRun finds a run of an execution that is over.
func finishedRun(conn *sqlite.Conn, id journal.ID, of journal.RunID, superseded uint64) (expired, error) {
	found, err := selectOne(conn, scanInt, `SELECT superseded FROM cruster_executions
		WHERE shard = ?1 AND run = ?2 AND id = ?3 AND state IN ('completed', 'failed', 'interrupted')`, journal.KeyOf(id, of), id[:])
	if err == nil && (found == nil || uint64(*found) != superseded) {
		err = journal.ErrNotFound
	}
	return expired{id: id, run: of, superseded: int64(superseded)}, err
}
