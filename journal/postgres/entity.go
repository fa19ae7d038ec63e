package postgres

import (
	"maps"

	"github.com/jackc/pgx/v5"

	"github.com/cruster/cruster/journal"
)

// queueEntities appends the statements that replace the rows of entities, or destroy them. The names of one stay as
// they are: its id is made of them. So a row can be updated in place.
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
