package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/cruster/cruster/journal"
)

// Children implements journal.Store.
func (s *Store) Children(ctx context.Context, run journal.RunID, after journal.ID, limit int) ([]journal.Execution, error) {
	scan := func(row pgx.CollectableRow) (journal.Execution, error) {
		e, err := scanExecution(row)
		return journal.Listed(e), err
	}
	return readAll(ctx, s, scan, "children of a run",
		`SELECT `+pageColumns+` FROM `+s.sql.executions+` WHERE parent_run = $1 AND state IN ('running', 'paused') AND id > $2
		ORDER BY id LIMIT $3`, run[:], after[:], max(limit, 0))
}
