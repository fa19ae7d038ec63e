package sqlite

import (
	"context"

	"github.com/cruster/cruster/journal"
)

const selectChildren = `SELECT ` + executionColumns + ` FROM cruster_executions e WHERE e.parent_run = ?1 AND e.state IN ('running', 'paused') AND e.id > ?2 ORDER BY e.id LIMIT ?3`

// Children implements journal.Store.
func (s *Store) Children(ctx context.Context, of journal.RunID, after journal.ID, limit int) ([]journal.Execution, error) {
	return readAll(ctx, s, scanListed, "children of run "+of.String(), selectChildren, of, after[:], max(limit, 0))
}
