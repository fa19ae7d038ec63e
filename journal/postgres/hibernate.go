package postgres

import (
	"maps"

	"github.com/jackc/pgx/v5"

	"github.com/cruster/cruster/journal"
)

// queueHibernated appends a statement that replaces or deletes the saved states of
// guests, in the order of their ids.
func queueHibernated(b *pgx.Batch, saved map[journal.ID]*journal.Hibernated) {
	var rows keys
	var seqs []int64
	var bodies [][]byte
	for _, id := range sortedIDs(maps.Keys(saved)) {
		h := saved[id]
		rows.add(id)
		seqs = append(seqs, int64(h.Seq))
		var body []byte // nil: deleted
		if len(h.Body) > 0 {
			body = h.Body
		}
		bodies = append(bodies, body)
	}
	b.Queue(stmtHibernate, rows.shards, rows.ids, seqs, bodies)
}
