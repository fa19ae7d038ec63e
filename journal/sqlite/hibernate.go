package sqlite

import "github.com/cruster/cruster/journal"

// hibernate replaces or deletes the saved state of a run's guest.
func (b *batch) hibernate(w *journal.Write, h *journal.Hibernated) error {
	of := journal.KeyOf(w.ID, w.Run)
	if len(h.Body) == 0 {
		return exec(b.conn, "DELETE FROM cruster_hibernated WHERE shard = ?1 AND run = ?2", of)
	}
	return exec(b.conn,
		`INSERT OR REPLACE INTO cruster_hibernated (shard, run, seq, body)
		SELECT ?1, ?2, ?3, ?4 FROM cruster_executions WHERE shard = ?1 AND run = ?2 AND state IN ('running', 'paused')`,
		of,
		h.Seq,
		h.Body,
	)
}
