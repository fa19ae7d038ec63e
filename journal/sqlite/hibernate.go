package sqlite

import (
	"zombiezen.com/go/sqlite"

	"github.com/cruster/cruster/journal"
)

// hibernate replaces or deletes the saved state of an execution's guest.
func (b *batch) hibernate(id journal.ID, h *journal.Hibernated) error {
	if len(h.Body) == 0 {
		return run(b.conn, "DELETE FROM cruster_hibernated WHERE shard = ?1 AND id = ?2", func(stmt *sqlite.Stmt) {
			bindID(stmt, 1, 2, id)
		}, nil)
	}
	return run(b.conn, `INSERT OR REPLACE INTO cruster_hibernated (shard, id, seq, body)
		SELECT ?1, ?2, ?3, ?4 FROM cruster_executions WHERE shard = ?1 AND id = ?2 AND state IN ('running', 'paused')`, func(stmt *sqlite.Stmt) {
		bindID(stmt, 1, 2, id)
		stmt.BindInt64(3, int64(h.Seq))
		stmt.BindBytes(4, h.Body)
	}, nil)
}
