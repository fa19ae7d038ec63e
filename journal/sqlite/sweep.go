package sqlite

import (
	"context"
	"fmt"

	"zombiezen.com/go/sqlite"

	"github.com/cruster/cruster/journal"
)

// selectExpired finds what may be deleted, oldest first. An execution whose parent
// is alive stays: a replay of the parent asks for its result again. So does one that
// an execution which is alive is linked to.
const selectExpired = `SELECT e.id FROM cruster_executions e
	WHERE e.finished_at > 0 AND e.finished_at < ?1 AND e.state IN ('completed', 'failed', 'interrupted')
	AND NOT EXISTS (SELECT 1 FROM cruster_executions p
		WHERE p.shard = e.parent_shard AND p.id = e.parent AND p.run = e.parent_run AND p.state NOT IN ('completed', 'failed', 'interrupted'))
	AND NOT EXISTS (SELECT 1 FROM cruster_links l JOIN cruster_executions p ON p.shard = l.shard AND p.id = l.id
		WHERE l.callee_run = e.run AND p.state NOT IN ('completed', 'failed', 'interrupted'))
	ORDER BY e.finished_at, e.id LIMIT ?2`

// Sweep implements journal.Store.
func (s *Store) Sweep(ctx context.Context, own []journal.Fence, finishedBefore int64, limit int) (int, error) {
	var expired []journal.ID
	err := s.writeFenced(ctx, own, func(conn *sqlite.Conn) error {
		err := run(conn, selectExpired, func(stmt *sqlite.Stmt) {
			stmt.BindInt64(1, finishedBefore)
			stmt.BindInt64(2, int64(max(limit, 0)))
		}, func(row *sqlite.Stmt) error {
			expired = append(expired, columnID(row, 0))
			return nil
		})
		if err != nil {
			return err
		}
		for _, id := range expired {
			for _, table := range []string{"cruster_entries", "cruster_deferreds", "cruster_links", "cruster_inputs", "cruster_executions"} {
				err := run(conn, "DELETE FROM "+table+" WHERE shard = ?1 AND id = ?2", func(stmt *sqlite.Stmt) {
					bindID(stmt, 1, 2, id)
				}, nil)
				if err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("sqlite: sweep: %w", err)
	}
	return len(expired), nil
}
