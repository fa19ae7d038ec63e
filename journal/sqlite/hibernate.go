package sqlite

import (
	"zombiezen.com/go/sqlite"

	"github.com/cruster/cruster/journal"
)

// hibernate replaces or deletes the saved state of a run's guest.
func (b *batch) hibernate(w *journal.Write, h *journal.Hibernated) error {
	of := journal.KeyOf(w.ID, w.Run)
	if len(h.Body) == 0 {
		return run(b.conn, "DELETE FROM cruster_hibernated WHERE shard = ?1 AND run = ?2", func(stmt *sqlite.Stmt) { bindRun(stmt, of) }, nil)
	}
	return run(b.conn, `INSERT OR REPLACE INTO cruster_hibernated (shard, run, seq, body)
		SELECT ?1, ?2, ?3, ?4 FROM cruster_executions WHERE shard = ?1 AND run = ?2 AND state IN ('running', 'paused')`, func(stmt *sqlite.Stmt) {
		bindRun(stmt, of)
		stmt.BindInt64(3, int64(h.Seq))
		stmt.BindBytes(4, h.Body)
	}, nil)
}
