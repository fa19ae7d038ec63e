package postgres

import (
	"context"

	"github.com/cruster/cruster/journal"
)

// Children implements journal.Store.
func (s *Store) Children(ctx context.Context, run journal.RunID, after journal.ID, limit int) ([]journal.Execution, error) {
	return readAll(ctx, s, scanExecution, "children of a run",
		`SELECT `+executionColumns+` FROM `+s.sql.executions+` WHERE parent_run = $1 AND state IN ('running', 'paused') AND id > $2
		ORDER BY id LIMIT $3`, run[:], after[:], max(limit, 0))
}
