package sqlite

import (
	"context"
	"fmt"

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
	return run(b.conn, `INSERT INTO cruster_entities (shard, id, namespace, type, key, version, created_at, updated_at, state)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
		ON CONFLICT (shard, id) DO UPDATE SET version = ?6, created_at = ?7, updated_at = ?8, state = ?9`, func(stmt *sqlite.Stmt) {
		bindID(stmt, 1, 2, e.ID)
		stmt.BindText(3, e.Namespace)
		stmt.BindText(4, e.Type)
		stmt.BindText(5, e.Key)
		stmt.BindInt64(6, int64(e.Version))
		stmt.BindInt64(7, e.CreatedAt)
		stmt.BindInt64(8, e.UpdatedAt)
		bindBlob(stmt, 9, e.State)
	}, nil)
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

func scanEntity(row *sqlite.Stmt) (e journal.Entity) {
	e.ID = columnID(row, 0)
	e.Namespace, e.Type, e.Key = row.ColumnText(1), row.ColumnText(2), row.ColumnText(3)
	e.Version = uint32(row.ColumnInt64(4))
	e.CreatedAt, e.UpdatedAt = row.ColumnInt64(5), row.ColumnInt64(6)
	return e
}

// Entity implements journal.Store.
func (s *Store) Entity(ctx context.Context, id journal.ID) (found *journal.Entity, err error) {
	err = s.read(ctx, func(conn *sqlite.Conn) (err error) {
		found, err = readEntity(conn, id)
		return err
	})
	if err == nil && found == nil {
		err = journal.ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("sqlite: entity %s: %w", id, err)
	}
	return found, nil
}

// readEntity reads an entity; nil if there is none.
func readEntity(conn *sqlite.Conn, id journal.ID) (found *journal.Entity, err error) {
	err = run(conn, selectEntity, func(stmt *sqlite.Stmt) { bindID(stmt, 1, 2, id) }, func(row *sqlite.Stmt) error {
		e := scanEntity(row)
		e.State = blob(row, 7)
		found = &e
		return nil
	})
	return found, err
}

// ListEntities implements journal.Store.
func (s *Store) ListEntities(ctx context.Context, f journal.EntityFilter) (found []journal.Entity, err error) {
	limit, err := f.Size()
	if err != nil {
		return nil, err
	}
	place := f.Place()
	if f.Namespace != "" && place.Namespace != f.Namespace {
		return nil, nil
	}
	query, bound := entitiesQuery(&f)
	err = s.read(ctx, func(conn *sqlite.Conn) error {
		return run(conn, query, func(stmt *sqlite.Stmt) {
			stmt.BindText(1, place.Namespace)
			stmt.BindText(2, place.Type)
			stmt.BindText(3, place.Key)
			stmt.BindText(4, bound)
			stmt.BindText(5, f.Type)
			stmt.BindInt64(6, int64(limit))
		}, func(row *sqlite.Stmt) error {
			found = append(found, scanEntity(row))
			return nil
		})
	})
	if err != nil {
		return nil, fmt.Errorf("sqlite: list entities: %w", err)
	}
	return found, nil
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
