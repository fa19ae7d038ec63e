package sqlite

import "github.com/cruster/cruster/journal"

// retireRun leaves the rows of a run to Purge, and has a sweep free the rows that the run holds.
const retireRun = `INSERT INTO cruster_retired (shard, run, id, holds)
	SELECT shard, run, id, holds FROM cruster_executions WHERE shard = ?1 AND id = ?2 AND superseded = 0` +
	retiredBefore

// continueAs has another run take the place of the one of a write, in the same row.
func (b *batch) continueAs(w *journal.Write) error {
	if err := exec(b.conn, retireRun, w.ID); err != nil {
		return err
	}
	if err := exec(b.conn, releaseMessages, w.Receiver()); err != nil {
		return err
	}
	c := w.Continue
	if err := b.putInput(journal.KeyOf(w.ID, c.Run), c.Input); err != nil {
		return err
	}
	return exec(
		b.conn,
		`UPDATE cruster_executions SET chain = coalesce(chain, run), run = ?3, continued = continued + 1, digest = ?4,
			pinned = ?5,
			state = ?6, wake_at = ?7, waiting = ?8, finished_at = 0, value = NULL, error = NULL, moved_at = 0,
				section = NULL, holds = 0
		WHERE shard = ?1 AND id = ?2 AND superseded = 0`,
		w.ID,
		c.Run,
		c.Digest,
		pack(&c.Pinned),
		string(journal.Running),
		journal.Now,
		pack(&journal.Waiting{}),
	)
}
