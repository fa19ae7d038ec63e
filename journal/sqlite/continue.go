package sqlite

import (
	"zombiezen.com/go/sqlite"

	"github.com/cruster/cruster/journal"
)

// releaseHeld has a sweep free what a run holds: it may be much.
const releaseHeld = "INSERT INTO cruster_continued (shard, run) SELECT shard, run FROM cruster_executions WHERE shard = ?1 AND id = ?2 AND holds = 1"

// continueAs has another run take the place of the one of a write, in the same row.
func (b *batch) continueAs(w *journal.Write) error {
	for _, query := range []string{
		"DELETE FROM cruster_entries WHERE shard = ?1 AND id = ?2",
		"DELETE FROM cruster_deferreds WHERE shard = ?1 AND id = ?2",
		"DELETE FROM cruster_links WHERE shard = ?1 AND id = ?2",
		"DELETE FROM cruster_hibernated WHERE shard = ?1 AND id = ?2",
		releaseMessages,
		releaseHeld,
	} {
		if err := exec(b.conn, query, w.ID); err != nil {
			return err
		}
	}
	c := w.Continue
	err := run(b.conn, "UPDATE cruster_inputs SET input = ?3 WHERE shard = ?1 AND id = ?2", func(stmt *sqlite.Stmt) {
		bindID(stmt, 1, 2, w.ID)
		bindBlob(stmt, 3, c.Input)
	}, nil)
	if err != nil {
		return err
	}
	return run(b.conn, `UPDATE cruster_executions SET chain = coalesce(chain, run), run = ?3, continued = continued + 1, digest = ?4, pinned = ?5,
			state = ?6, wake_at = ?7, waiting = ?8, finished_at = 0, value = NULL, error = NULL, moved_at = 0, section = NULL, holds = 0
		WHERE shard = ?1 AND id = ?2`, func(stmt *sqlite.Stmt) {
		bindID(stmt, 1, 2, w.ID)
		stmt.BindBytes(3, c.Run[:])
		stmt.BindText(4, c.Digest)
		bindPacked(stmt, 5, &c.Pinned)
		stmt.BindText(6, string(journal.Running))
		stmt.BindInt64(7, journal.Now)
		bindPacked(stmt, 8, &journal.Waiting{})
	}, nil)
}
