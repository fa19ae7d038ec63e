package sqlite

import "github.com/cruster/cruster/journal"

// supersede makes way for another run of an execution: the current one, if there is one, is
// superseded; apply has checked that it has ended. Executions are found by the attributes of the
// current run alone.
func (b *batch) supersede(id journal.ID) error {
	for _, query := range []string{
		`UPDATE cruster_executions SET superseded = 1 + (SELECT max(superseded) FROM cruster_executions WHERE shard = ?1
			AND id = ?2)
			WHERE shard = ?1 AND id = ?2 AND superseded = 0`,
		"DELETE FROM cruster_attributes WHERE shard = ?1 AND id = ?2",
	} {
		if err := exec(b.conn, query, id); err != nil {
			return err
		}
	}
	return nil
}

// superseding tells whether the run that a write supersedes has a message of the origin that the write receives.
func (b *batch) superseding(w *journal.Write) (bool, error) {
	there, err := b.run(w.ID)
	if err != nil || there == nil {
		return false, err
	}
	return b.knows(journal.Receiver{ID: w.ID, Chain: there.chain}, w.Receive.Origin)
}
