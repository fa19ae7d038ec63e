package postgres

import (
	"context"
	"maps"

	"github.com/jackc/pgx/v5"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// queueEntities appends the statements that replace the rows of entities, or destroy them.
// The names of one stay as they are: its id is made of them. So a row can be updated in
// place.
func queueEntities(b *pgx.Batch, entities map[journal.ID]*journal.Entity) {
	var put, destroyed keys
	var namespaces, types, names []string
	var versions, created, updated []int64
	var states [][]byte
	for _, id := range sortedIDs(maps.Keys(entities)) {
		e := entities[id]
		if e == nil {
			destroyed.add(id)
			continue
		}
		put.add(id)
		namespaces, types, names = append(namespaces, e.Namespace), append(types, e.Type), append(names, e.Key)
		versions = append(versions, int64(e.Version))
		created, updated = append(created, e.CreatedAt), append(updated, e.UpdatedAt)
		states = append(states, e.State)
	}
	if put.len() > 0 {
		b.Queue(stmtEntities, put.shards, put.ids, namespaces, types, names, versions, created, updated, states)
	}
	if destroyed.len() > 0 {
		b.Queue(stmtDestroys, destroyed.shards, destroyed.ids)
	}
}

const entityColumns = `id, namespace, type, key, version, created_at, updated_at`

func scanEntity(row pgx.CollectableRow) (e journal.Entity, err error) {
	var id []byte
	if err := row.Scan(&id, &e.Namespace, &e.Type, &e.Key, &e.Version, &e.CreatedAt, &e.UpdatedAt, &e.State); err != nil {
		return e, err
	}
	return e, decodeID(id, &e.ID)
}

// Entity implements journal.Store.
func (s *Store) Entity(ctx context.Context, id journal.ID) (*journal.Entity, error) {
	return readOne(ctx, s, scanEntity, "entity "+id.String(), s.sql.entityQuery(), int16(id.Shard()), id[:])
}

func (st *statements) entityQuery() string {
	return `SELECT ` + entityColumns + `, state FROM ` + st.entities + ` WHERE shard = $1 AND id = $2`
}

// ListEntities implements journal.Store.
func (s *Store) ListEntities(ctx context.Context, f journal.EntityFilter) ([]journal.Entity, error) {
	limit, err := f.Size()
	if err != nil {
		return nil, err
	}
	place := f.Place()
	for _, v := range []string{f.Namespace, f.Type, place.Namespace, place.Type, place.Key} {
		if !isText(v) {
			return nil, abi.Errorf(abi.CodeBadRequest, "%q is not text", v)
		}
	}
	if f.Namespace != "" && place.Namespace != f.Namespace {
		return nil, nil
	}
	query, bound := s.sql.entitiesQuery(&f)
	return readAll(ctx, s, scanEntity, "entities", query, place.Namespace, place.Type, place.Key, bound, f.Type, limit)
}

// entitiesQuery lists what is behind a place, of one namespace or of all.
func (st *statements) entitiesQuery(f *journal.EntityFilter) (query, bound string) {
	behind := `namespace = $1 AND (type, key) > ($2, $3) AND type >= $5`
	if f.Namespace == "" {
		behind = `(namespace, type, key) > ($1, $2, $3) AND type >= $5`
	}
	operator, bound := f.Bound()
	return `SELECT ` + entityColumns + `, NULL::bytea FROM ` + st.entities + `
		WHERE ` + behind + ` AND type ` + operator + ` $4 ORDER BY namespace, type, key LIMIT $6`, bound
}
