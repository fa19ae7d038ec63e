package postgres

import (
	"maps"

	"github.com/jackc/pgx/v5"

	"github.com/cruster/cruster/journal"
)

// queueHibernated appends a statement that replaces or deletes the saved states of guests, in the order of their
// executions.
func (p *plan) queueHibernated(b *pgx.Batch) {
	var rows keys
	var seqs []int64
	var bodies [][]byte
	for _, id := range sortedIDs(maps.Keys(p.hibernated)) {
		h := p.hibernated[id]
		rows.addRun(journal.KeyOf(id, p.runs[id]))
		seqs = append(seqs, int64(h.Seq))
		var body []byte // nil: deleted
		if len(h.Body) > 0 {
			body = h.Body
		}
		bodies = append(bodies, body)
	}
	b.Queue(stmtHibernate, rows.shards, rows.ids, seqs, bodies)
}
