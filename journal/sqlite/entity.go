package sqlite

import (
	"context"

	"zombiezen.com/go/sqlite"

	"github.com/cruster/cruster/journal"
)

const (
	entityColumns = "id, namespace, type, key, version, created_at, updated_at"

	selectEntity = "SELECT " + entityColumns + ", state FROM cruster_entities WHERE shard = ?1 AND id = ?2"
)

// putEntity replaces the row of an entity, or inserts it. Its names stay as they are: the
// id is made of them. So the index over them is not written again.
func (b *batch) putEntity(e *journal.Entity) error {
	return exec(b.conn, `INSERT INTO cruster_entities (shard, id, namespace, type, key, version, created_at, updated_at, state)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
		ON CONFLICT (shard, id) DO UPDATE SET version = ?6, created_at = ?7, updated_at = ?8, state = ?9`,
		e.ID, e.Namespace, e.Type, e.Key, int(e.Version), e.CreatedAt, e.UpdatedAt, e.State)
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

func scanEntity(row *sqlite.Stmt) (e journal.Entity, _ error) {
	e.ID = columnID(row, 0)
	e.Namespace, e.Type, e.Key = row.ColumnText(1), row.ColumnText(2), row.ColumnText(3)
	e.Version = uint32(row.ColumnInt64(4))
	e.CreatedAt, e.UpdatedAt = row.ColumnInt64(5), row.ColumnInt64(6)
	if row.ColumnCount() > 7 {
		e.State = blob(row, 7)
	}
	return e, nil
}

// Entity implements journal.Store.
func (s *Store) Entity(ctx context.Context, id journal.ID) (*journal.Entity, error) {
	return readOne(ctx, s, scanEntity, "entity "+id.String(), selectEntity, id)
}

// ListEntities implements journal.Store.
func (s *Store) ListEntities(ctx context.Context, f journal.EntityFilter) ([]journal.Entity, error) {
	limit, err := f.Size()
	if err != nil {
		return nil, err
	}
	place := f.Place()
	if f.Namespace != "" && place.Namespace != f.Namespace {
		return nil, nil
	}
	query, bound := entitiesQuery(&f)
	return readAll(ctx, s, scanEntity, "entities", query, place.Namespace, place.Type, place.Key, bound, f.Type, limit)
}

// entitiesQuery lists what is behind a place, of one namespace or of all.
func entitiesQuery(f *journal.EntityFilter) (query, bound string) {
	behind := "namespace = ?1 AND (type, key) > (?2, ?3)"
	if f.Namespace == "" {
		behind = "(namespace, type, key) > (?1, ?2, ?3) AND type >= ?5"
	}
	operator, bound := f.Bound()
	return "SELECT " + entityColumns + " FROM cruster_entities WHERE " + behind + " AND type " + operator + " ?4 ORDER BY namespace, type, key LIMIT ?6", bound
}
