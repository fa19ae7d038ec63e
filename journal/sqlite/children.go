package sqlite

import (
	"context"
	"fmt"

	"zombiezen.com/go/sqlite"

	"github.com/cruster/cruster/journal"
)

const selectChildren = `SELECT ` + executionColumns + ` FROM cruster_executions e WHERE e.parent_run = ?1 AND e.state IN ('running', 'paused') AND e.id > ?2 ORDER BY e.id LIMIT ?3`

// Children implements journal.Store.
func (s *Store) Children(ctx context.Context, of journal.RunID, after journal.ID, limit int) (found []journal.Execution, err error) {
	err = s.read(ctx, func(conn *sqlite.Conn) error {
		return run(conn, selectChildren, func(stmt *sqlite.Stmt) {
			stmt.BindBytes(1, of[:])
			stmt.BindBytes(2, after[:])
			stmt.BindInt64(3, int64(max(limit, 0)))
		}, func(row *sqlite.Stmt) error {
			e, err := scanExecution(row)
			found = append(found, journal.Listed(e))
			return err
		})
	})
	if err != nil {
		return nil, fmt.Errorf("sqlite: children of run %s: %w", of, err)
	}
	return found, nil
}
