package sqlite

import (
	"context"
	"fmt"
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
	selectOverHolder = "SELECT id, run FROM cruster_executions WHERE holds = 1 AND finished_at > 0 LIMIT 1"
	// A run that has continued is over, but its row is not.
	selectContinued = "SELECT run FROM cruster_continued LIMIT 1"
	deleteContinued = "DELETE FROM cruster_continued WHERE run = ?1"

	selectHeld  = "SELECT id FROM cruster_executions WHERE held_by = ?1 LIMIT ?2"
	updateHolds = "UPDATE cruster_executions SET holds = 1 WHERE shard = ?1 AND id = ?2 AND holds = 0"

	// selectExpired finds what may be deleted, oldest first, each with an execution
	// that is alive and may ask for it.
	selectExpired = `SELECT e.id, e.finished_at,
		(SELECT p.id FROM cruster_executions p
			WHERE p.shard = e.parent_shard AND p.id = e.parent AND p.run = e.parent_run AND p.state NOT IN ('completed', 'failed', 'interrupted')),
		(SELECT p.id FROM cruster_links l JOIN cruster_executions p ON p.shard = l.shard AND p.id = l.id
			WHERE l.callee_run = coalesce(e.chain, e.run) AND p.state NOT IN ('completed', 'failed', 'interrupted') LIMIT 1)
	FROM cruster_executions e
	WHERE e.finished_at > 0 AND e.held_by IS NULL AND e.holds = 0 AND e.finished_at < ?1 AND (e.finished_at, e.id) > (?2, ?3)
		AND e.state IN ('completed', 'failed', 'interrupted')
	ORDER BY e.finished_at, e.id LIMIT ?4`
)

// sweep is a sweep under way: a row of transactions, between which others have their
// turn.
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
		return 0, fmt.Errorf("sqlite: sweep: %w", err)
	}
	return max(limit, 0) - w.left, nil
}

// run repeats each step, in transactions of its own, until there is no more to do.
func (w *sweep) run(ctx context.Context, own []journal.Fence, steps ...func(*sqlite.Conn) (bool, error)) error {
	for _, step := range steps {
		for more := true; more && w.left > 0; {
			err := w.store.writeFenced(ctx, own, func(conn *sqlite.Conn) (err error) {
				more, err = step(conn)
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
func (w *sweep) free(conn *sqlite.Conn) (more bool, err error) {
	var holder journal.ID // zero if the run has continued
	var holderRun []byte
	err = run(conn, selectOverHolder, nil, func(row *sqlite.Stmt) error {
		holder, holderRun = columnID(row, 0), blob(row, 1)
		return nil
	})
	if err == nil && holderRun == nil {
		err = run(conn, selectContinued, nil, func(row *sqlite.Stmt) error {
			holderRun = blob(row, 0)
			return nil
		})
	}
	if err != nil || holderRun == nil {
		return false, err
	}
	heldExecutions, err := freeExecutions(conn, holderRun)
	if err != nil {
		return false, err
	}
	heldReceipts, err := freeReceipts(conn, holderRun)
	switch {
	case err != nil || heldExecutions == journal.SweepBatch || heldReceipts == journal.SweepBatch:
	case holder.IsZero():
		err = run(conn, deleteContinued, func(stmt *sqlite.Stmt) { stmt.BindBytes(1, holderRun) }, nil)
	default:
		err = exec(conn, "UPDATE cruster_executions SET holds = 0 WHERE shard = ?1 AND id = ?2", holder)
	}
	return true, err
}

func freeExecutions(conn *sqlite.Conn, holder []byte) (n int, err error) {
	var held []journal.ID
	err = run(conn, selectHeld, func(stmt *sqlite.Stmt) {
		stmt.BindBytes(1, holder)
		stmt.BindInt64(2, journal.SweepBatch)
	}, func(row *sqlite.Stmt) error {
		held = append(held, columnID(row, 0))
		return nil
	})
	for _, id := range held {
		if err == nil {
			err = exec(conn, "UPDATE cruster_executions SET held_by = NULL WHERE shard = ?1 AND id = ?2", id)
		}
	}
	return len(held), err
}

// expired is an execution whose time is over.
type expired struct {
	id     journal.ID
	holder journal.ID // that is alive and may ask for it, if there is one
	at     int64
}

// delete looks at a few executions, and deletes those that no other may ask for.
func (w *sweep) delete(conn *sqlite.Conn) (more bool, err error) {
	found, err := w.expired(conn)
	if err != nil || len(found) == 0 {
		return false, err
	}
	var free []expired
	for _, e := range found {
		if e.holder.IsZero() {
			free = append(free, e)
			continue
		}
		if err := hold(conn, e); err != nil {
			return false, err
		}
	}
	sizes := make([]journal.SweepSize, len(free))
	for i, e := range free {
		if sizes[i], err = journalSize(conn, e.id); err != nil {
			return false, err
		}
	}
	whole, entries := journal.CutSweep(sizes)
	w.store.mail.forget()
	for _, e := range free[:whole] {
		if err := deleteExecution(conn, e.id); err != nil {
			return false, err
		}
	}
	w.left -= whole
	if entries > 0 {
		return true, deleteSome(conn, free[0].id, entries)
	}
	last := found[len(found)-1]
	if whole < len(free) {
		// The rest is looked at again: it begins behind the last that is gone.
		last = free[whole-1]
	}
	w.after = journal.Wake{At: last.at, ID: last.id}
	return true, nil
}

func (w *sweep) expired(conn *sqlite.Conn) (found []expired, err error) {
	err = run(conn, selectExpired, func(stmt *sqlite.Stmt) {
		stmt.BindInt64(1, w.before)
		stmt.BindInt64(2, w.after.At)
		stmt.BindBytes(3, w.after.ID[:])
		stmt.BindInt64(4, int64(min(w.left, journal.SweepBatch)))
	}, func(row *sqlite.Stmt) error {
		e := expired{id: columnID(row, 0), at: row.ColumnInt64(1)}
		for _, col := range []int{2, 3} {
			if !row.ColumnIsNull(col) {
				e.holder = columnID(row, col)
			}
		}
		found = append(found, e)
		return nil
	})
	return found, err
}

// hold keeps retention from looking at an execution again until its holder is over.
func hold(conn *sqlite.Conn, e expired) error {
	err := run(conn, `UPDATE cruster_executions SET held_by = (SELECT run FROM cruster_executions WHERE shard = ?3 AND id = ?4)
		WHERE shard = ?1 AND id = ?2`, func(stmt *sqlite.Stmt) {
		bindID(stmt, 1, 2, e.id)
		bindID(stmt, 3, 4, e.holder)
	}, nil)
	if err != nil {
		return err
	}
	return exec(conn, updateHolds, e.holder)
}

// sweptRows are the tables of which an execution may have many rows, in the order in
// which these are deleted: from the last by the key on.
var sweptRows = []struct{ table, key, size string }{
	{"cruster_inbox", "position", "bytes"},
	{"cruster_receipts", "origin", "coalesce(length(value), 0)"},
	{"cruster_entries", "seq", "length(body)"},
}

// selectSweepSize measures those that are deleted next.
var selectSweepSize = func() string {
	var parts []string
	for _, r := range sweptRows {
		parts = append(parts, "SELECT n FROM (SELECT "+r.size+" AS n FROM "+r.table+" WHERE shard = ?1 AND id = ?2 ORDER BY "+r.key+" DESC LIMIT ?3)")
	}
	return "SELECT count(*), coalesce(sum(n), 0) FROM (" + strings.Join(parts, " UNION ALL ") + " LIMIT ?3)"
}()

func journalSize(conn *sqlite.Conn, id journal.ID) (size journal.SweepSize, err error) {
	err = run(conn, selectSweepSize, func(stmt *sqlite.Stmt) {
		bindID(stmt, 1, 2, id)
		stmt.BindInt64(3, journal.SweepEntries)
	}, func(row *sqlite.Stmt) error {
		size = journal.SweepSize{Entries: row.ColumnInt64(0), Bytes: row.ColumnInt64(1)}
		return nil
	})
	return size, err
}

// deleteSome deletes n rows of an execution.
func deleteSome(conn *sqlite.Conn, id journal.ID, n int64) error {
	for _, r := range sweptRows {
		if n <= 0 {
			break
		}
		err := run(conn, "DELETE FROM "+r.table+" WHERE shard = ?1 AND id = ?2 AND "+r.key+
			" IN (SELECT "+r.key+" FROM "+r.table+" WHERE shard = ?1 AND id = ?2 ORDER BY "+r.key+" DESC LIMIT ?3)", func(stmt *sqlite.Stmt) {
			bindID(stmt, 1, 2, id)
			stmt.BindInt64(3, n)
		}, nil)
		if err != nil {
			return err
		}
		n -= int64(conn.Changes())
	}
	return nil
}

func deleteExecution(conn *sqlite.Conn, id journal.ID) error {
	for _, table := range []string{
		"cruster_inbox", "cruster_receipts", "cruster_entries", "cruster_deferreds", "cruster_links", "cruster_hibernated", "cruster_inputs",
		"cruster_published", "cruster_attributes", "cruster_executions",
	} {
		if err := exec(conn, "DELETE FROM "+table+" WHERE shard = ?1 AND id = ?2", id); err != nil {
			return err
		}
	}
	return nil
}

// exec runs a statement about one execution.
func exec(conn *sqlite.Conn, query string, id journal.ID) error {
	return run(conn, query, func(stmt *sqlite.Stmt) { bindID(stmt, 1, 2, id) }, nil)
}
