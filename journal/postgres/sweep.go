package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/cruster/cruster/journal"
)

// Sweep implements journal.Store. Rows that a commit holds at this moment are
// left for the next time.
func (s *Store) Sweep(ctx context.Context, own []journal.Fence, finishedBefore int64, limit int) (int, error) {
	var tag pgconn.CommandTag
	err := s.fenced(ctx, s.main, own, func(ctx context.Context, tx pgx.Tx) (err error) {
		tag, err = tx.Exec(ctx, `
		WITH expired AS (
			SELECT e.shard, e.id FROM `+s.sql.executions+` e
			WHERE e.finished_at > 0 AND e.finished_at < $1 AND e.state IN ('completed', 'failed', 'interrupted')
			AND NOT EXISTS (SELECT FROM `+s.sql.executions+` p WHERE p.shard = get_byte(e.parent, 0) AND p.id = e.parent
				AND p.run = e.parent_run AND p.state NOT IN ('completed', 'failed', 'interrupted'))
			AND NOT EXISTS (SELECT FROM `+s.sql.links+` l JOIN `+s.sql.executions+` p ON p.shard = l.shard AND p.id = l.id
				WHERE l.callee_run = e.run AND p.state NOT IN ('completed', 'failed', 'interrupted'))
			ORDER BY e.finished_at, e.id LIMIT $2 FOR UPDATE OF e SKIP LOCKED),
		journals AS (DELETE FROM `+s.sql.entries+` x USING expired d WHERE x.shard = d.shard AND x.id = d.id),
		links AS (DELETE FROM `+s.sql.links+` x USING expired d WHERE x.shard = d.shard AND x.id = d.id),
		promises AS (DELETE FROM `+s.sql.deferreds+` x USING expired d WHERE x.shard = d.shard AND x.id = d.id)
		DELETE FROM `+s.sql.executions+` x USING expired d WHERE x.shard = d.shard AND x.id = d.id`,
			finishedBefore, max(limit, 0))
		return err
	})
	if err != nil {
		return 0, afterCommit("postgres: sweep", err)
	}
	return int(tag.RowsAffected()), nil
}
