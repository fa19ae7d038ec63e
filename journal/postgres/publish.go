package postgres

import (
	"context"
	"maps"

	"github.com/jackc/pgx/v5"

	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/journal/sqlread"
)

// queuePublished appends the statements that replace the published values of runs. Attributes that stay as they are are
// not written again.
func (p *plan) queuePublished(b *pgx.Batch) {
	var rows, chains, of keys
	var bodies [][]byte
	var names, types, texts []string
	var numbers []float64
	for _, id := range sortedIDs(maps.Keys(p.published)) {
		published := p.published[id]
		rows.add(id)
		chains.addRun(journal.KeyOf(id, p.chains[id]))
		bodies = append(bodies, published.Body())
		for _, a := range published.Attributes {
			of.add(id)
			names, types, texts, numbers = append(names, a.Name), append(types, a.Type), append(texts, a.Text), append(
				numbers, a.Number,
			)
		}
	}
	b.Queue(stmtPublish, chains.shards, chains.ids, bodies)
	b.Queue(stmtAttributesGone, rows.shards, rows.ids, of.ids, names)
	if of.len() > 0 {
		b.Queue(stmtAttributes, of.shards, of.ids, names, types, texts, numbers)
	}
}

// Outlines implements journal.Store.
func (s *Store) Outlines(ctx context.Context, chains []journal.RunKey) (map[journal.RunKey]*journal.Published, error) {
	var of keys
	for _, chain := range chains {
		of.addRun(chain)
	}
	outlines := map[journal.RunKey]*journal.Published{}
	scan := func(row sqlread.Row, _ *struct{}) (err error) {
		var shard int16
		var run, body []byte
		if err := row.Scan(&shard, &run, &body); err != nil {
			return err
		}
		outlines[runKeyOf(shard, run)], err = journal.OutlineOf(body)
		return err
	}
	_, err := sqlread.All(ctx, s.reader, scan, "what executions have published", nil,
		`SELECT shard, run, body FROM unnest($1::int2[], $2::bytea[]) AS k (shard, run) JOIN `+s.sql.published+
			` USING (shard, run)`,
		of.shards, of.ids,
	)
	return outlines, err
}
