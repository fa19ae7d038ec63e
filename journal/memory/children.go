package memory

import (
	"context"

	"github.com/cruster/cruster/journal"
)

// Children implements journal.Store.
func (s *Store) Children(
	ctx context.Context, run journal.RunID, after journal.ID, limit int,
) ([]journal.Execution, error) {
	return list(ctx, s, s.executions, func(id journal.ID, e *execution) (journal.Execution, bool) {
		return journal.Listed(cloneExecution(e.row)),
			e.row.Parent.Run == run && !e.row.Parent.IsZero() && !e.row.State.Final() && compareIDs(id, after) > 0
	}, func(a, b journal.Execution) int { return compareIDs(a.ID, b.ID) }, limit)
}
