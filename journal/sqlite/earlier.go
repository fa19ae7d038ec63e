package sqlite

import (
	"context"
	"errors"
	"fmt"

	"zombiezen.com/go/sqlite"

	"github.com/cruster/cruster/journal"
)

// asideTables are those of which a run that goes aside takes its rows along.
var asideTables = []string{"cruster_inputs", "cruster_entries", "cruster_deferreds", "cruster_links", "cruster_inbox", "cruster_published"}

// setAside moves the run of an execution aside, if there is one; apply has checked that it is
// over. It has no saved state any more.
func (b *batch) setAside(id journal.ID) error {
	there, err := b.run(id)
	if err != nil || there == nil {
		return err
	}
	aside := journal.EarlierOf(id, there.chain)
	move := func(query string) error {
		return run(b.conn, query, func(stmt *sqlite.Stmt) {
			bindID(stmt, 1, 2, id)
			stmt.BindBytes(3, aside[:])
		}, nil)
	}
	if err := move("UPDATE cruster_executions SET id = ?3, earlier_of = ?2 WHERE shard = ?1 AND id = ?2"); err != nil {
		return err
	}
	for _, table := range asideTables {
		if err := move("UPDATE " + table + " SET id = ?3 WHERE shard = ?1 AND id = ?2"); err != nil {
			return err
		}
	}
	b.mail.forget()
	return exec(b.conn, "DELETE FROM cruster_attributes WHERE shard = ?1 AND id = ?2", id)
}

const (
	selectEarlier = "SELECT " + executionColumns + ` FROM cruster_executions e
		WHERE e.earlier_of = ?1 AND (e.created_at, e.id) < (?2, ?3) ORDER BY e.created_at DESC, e.id DESC LIMIT ?4`
	selectRequested      = selectExecution + " WHERE e.shard = ?1 AND e.id = ?2 AND e.request = ?3"
	selectRequestedAside = selectExecution + " WHERE e.earlier_of = ?2 AND e.request = ?3 LIMIT 1" // by the index, not by the shard
)

// Earlier implements journal.Store.
func (s *Store) Earlier(ctx context.Context, id journal.ID, after journal.Wake, limit int) (rows []journal.Execution, err error) {
	from := place{after.At, after.ID[:]}
	if (after == journal.Wake{}) {
		from = newestPlace
	}
	err = s.read(ctx, func(conn *sqlite.Conn) error {
		return run(conn, selectEarlier, func(stmt *sqlite.Stmt) {
			stmt.BindBytes(1, id[:])
			stmt.BindInt64(2, from.at)
			stmt.BindBytes(3, from.id)
			stmt.BindInt64(4, int64(max(limit, 0)))
		}, func(row *sqlite.Stmt) error {
			e, err := scanExecution(row)
			rows = append(rows, journal.Listed(e))
			return err
		})
	})
	if err != nil {
		return nil, fmt.Errorf("sqlite: earlier runs of execution %s: %w", id, err)
	}
	return rows, nil
}

// Requested implements journal.Store.
func (s *Store) Requested(ctx context.Context, id journal.ID, request journal.Origin) (*journal.Execution, error) {
	var e *journal.Execution
	err := journal.ErrNotFound
	for _, query := range []string{selectRequested, selectRequestedAside} {
		if errors.Is(err, journal.ErrNotFound) {
			e, err = s.readOne(ctx, query, func(stmt *sqlite.Stmt) {
				bindID(stmt, 1, 2, id)
				stmt.BindBytes(3, request[:])
			})
		}
	}
	if err != nil {
		return nil, fmt.Errorf("sqlite: run of execution %s by its request: %w", id, err)
	}
	return e, nil
}

// leaveLink has the step that started a run find that the run was deleted, if the run of the step
// is not over.
const leaveLink = `INSERT OR IGNORE INTO cruster_links (shard, id, step, callee, callee_run)
	SELECT p.shard, p.id, e.parent_step, coalesce(e.earlier_of, e.id), coalesce(e.chain, e.run)
	FROM cruster_executions e JOIN cruster_executions p ON p.shard = e.parent_shard AND p.id = e.parent AND p.run = e.parent_run
	WHERE e.shard = ?1 AND e.id = ?2 AND p.state NOT IN ('completed', 'failed', 'interrupted')`

// Delete implements journal.Store.
func (s *Store) Delete(ctx context.Context, own []journal.Fence, id journal.ID, run journal.RunID) error {
	for more := true; more; {
		err := s.writeFenced(ctx, own, func(conn *sqlite.Conn) (err error) {
			more, err = s.deletePart(conn, id, run)
			return err
		})
		if err != nil {
			return fmt.Errorf("sqlite: delete execution %s: %w", id, err)
		}
	}
	return nil
}

// deletePart deletes a run, or as much of it as one transaction may.
func (s *Store) deletePart(conn *sqlite.Conn, id journal.ID, run journal.RunID) (more bool, err error) {
	there, err := readRun(conn, id)
	if err != nil {
		return false, err
	}
	if there == nil || there.run != run || !there.state.Final() {
		return false, journal.ErrNotFound
	}
	size, err := journalSize(conn, id)
	if err != nil {
		return false, err
	}
	s.mail.forget()
	if whole, entries := journal.CutSweep([]journal.SweepSize{size}); whole == 0 {
		return true, deleteSome(conn, id, entries)
	}
	for _, query := range []string{leaveLink, releaseHeld} {
		if err := exec(conn, query, id); err != nil {
			return false, err
		}
	}
	return false, deleteExecution(conn, id)
}
