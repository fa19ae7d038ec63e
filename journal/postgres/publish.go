package postgres

import (
	"context"
	"maps"

	"github.com/jackc/pgx/v5"

	"github.com/cruster/cruster/journal"
)

// queuePublished appends the statements that replace what runs have published. Attributes
// that stay as they are are not written again.
func queuePublished(b *pgx.Batch, published map[journal.ID]*journal.Published) {
	var rows, of keys
	var bodies [][]byte
	var names, types, texts []string
	var numbers []float64
	for _, id := range sortedIDs(maps.Keys(published)) {
		p := published[id]
		rows.add(id)
		bodies = append(bodies, p.Body())
		for _, a := range p.Attributes {
			of.add(id)
			names, types, texts, numbers = append(names, a.Name), append(types, a.Type), append(texts, a.Text), append(numbers, a.Number)
		}
	}
	b.Queue(stmtPublish, rows.shards, rows.ids, bodies)
	b.Queue(stmtAttributesGone, rows.shards, rows.ids, of.ids, names)
	if of.len() > 0 {
		b.Queue(stmtAttributes, of.shards, of.ids, names, types, texts, numbers)
	}
}

// Published implements journal.Store.
func (s *Store) Published(ctx context.Context, id journal.ID) (*journal.Published, error) {
	scan := func(row pgx.CollectableRow) (journal.Published, error) {
		var body []byte
		if err := row.Scan(&body); err != nil {
			return journal.Published{}, err
		}
		p, err := journal.PublishedOf(body)
		if err != nil {
			return journal.Published{}, err
		}
		return *p, nil
	}
	return readOne(ctx, s, scan, "what was published", `SELECT body FROM `+s.sql.published+` WHERE shard = $1 AND id = $2`, int16(id.Shard()), id[:])
}

// Outlines implements journal.Store.
func (s *Store) Outlines(ctx context.Context, ids []journal.ID) (map[journal.ID]*journal.Published, error) {
	var of keys
	for _, id := range ids {
		of.add(id)
	}
	outlines := map[journal.ID]*journal.Published{}
	scan := func(row pgx.CollectableRow) (none struct{}, err error) {
		var raw, body []byte
		var id journal.ID
		if err := row.Scan(&raw, &body); err != nil {
			return none, err
		}
		if err := decodeID(raw, &id); err != nil {
			return none, err
		}
		outlines[id], err = journal.OutlineOf(body)
		return none, err
	}
	_, err := readAll(ctx, s, scan, "what executions have published",
		`SELECT id, body FROM unnest($1::int2[], $2::bytea[]) AS k (shard, id) JOIN `+s.sql.published+` USING (shard, id)`, of.shards, of.ids)
	return outlines, err
}
