package sqlite

import "github.com/cruster/cruster/journal"

// putEntity replaces the row of an entity, or inserts it. Its names stay as they are: the id is made of them. So the
// index over them is not written again.
func (b *batch) putEntity(e *journal.Entity) error {
	return exec(
		b.conn,
		`INSERT INTO cruster_entities (shard, id, namespace, type, key, version, created_at, updated_at, state)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
		ON CONFLICT (shard, id) DO UPDATE SET version = ?6, created_at = ?7, updated_at = ?8, state = ?9`,
		e.ID,
		e.Namespace,
		e.Type,
		e.Key,
		int(e.Version),
		e.CreatedAt,
		e.UpdatedAt,
		e.State,
	)
}

// changeEntity changes the rows of an entity.
func (b *batch) changeEntity(w *journal.Write) (err error) {
	switch {
	case w.Entity != nil:
		err = b.putEntity(w.Entity)
	case w.Destroy:
		err = exec(b.conn, "DELETE FROM cruster_entities WHERE shard = ?1 AND id = ?2", w.ID)
	}
	switch {
	case err != nil:
	case w.Lock != nil:
		err = b.putLock(w.Lock)
	case w.Unlock:
		err = exec(b.conn, "DELETE FROM cruster_locks WHERE shard = ?1 AND id = ?2", w.ID)
	}
	return err
}
