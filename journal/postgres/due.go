package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/cruster/cruster/journal"
)

// # What is due, by shards
//
// The indexes of wake times begin with the shard: a host of a cluster reads what is in its own shards and nothing else. What is
// due is wanted in the order of time over all of them. To read a page from each shard and sort would read a thousand times what
// is wanted, page after page, if much is due. So a query reads a few rows of each shard, and what it has found is complete up to
// the earliest place at which a shard was cut off. That is a page, or the beginning of one: the next query goes on behind it. If
// nothing is due, as a rule, one query looks once into the index for each shard.

// allShards are the shards that are scanned.
var allShards = func() (shards []int16) {
	for shard := range int16(journal.NumShards) {
		shards = append(shards, shard)
	}
	return shards
}()

// perShard is how many rows a query reads of each of so many shards for a page. With as many as there are in a page, evenly
// spread, most pages would be cut off early; with eight times as many in all, hardly any is.
func perShard(limit, shards int) int { return 4*limit/shards + 4 }

// dueQuery lists what is due, a few rows of each shard, in the order of wake times. All of it is in the index.
func dueQuery(table, only string) string {
	return `SELECT w.wake_at, w.id FROM unnest($1::int2[]) AS s (shard) CROSS JOIN LATERAL (
			SELECT x.wake_at, x.id FROM ` + table + ` x WHERE x.shard = s.shard` + only + ` AND x.wake_at <= $2 AND (x.wake_at, x.id) > ($3, $4)
			ORDER BY x.wake_at, x.id LIMIT $5) AS w
		ORDER BY w.wake_at, w.id`
}

func (st *statements) dueExecutions() string {
	return dueQuery(st.executions, ` AND x.state = 'running'`)
}

func (st *statements) dueSchedules() string { return dueQuery(st.schedules, ``) }

// Due implements journal.Store.
func (s *Store) Due(ctx context.Context, until int64, after journal.Wake, limit int) ([]journal.Wake, error) {
	return s.due(ctx, "due executions", s.sql.dueExecutions(), until, after, limit)
}

// DueSchedules implements journal.Store.
func (s *Store) DueSchedules(ctx context.Context, until int64, after journal.Wake, limit int) ([]journal.Wake, error) {
	return s.due(ctx, "due schedules", s.sql.dueSchedules(), until, after, limit)
}

func (s *Store) due(ctx context.Context, what, query string, until int64, after journal.Wake, limit int) (page []journal.Wake, err error) {
	scan := func(row pgx.CollectableRow) (w journal.Wake, err error) {
		var id []byte
		if err := row.Scan(&w.At, &id); err != nil {
			return w, err
		}
		return w, decodeID(id, &w.ID)
	}
	most := perShard(limit, len(allShards))
	for more := true; more && len(page) < limit; {
		rows, err := readAll(ctx, s, scan, what, query, allShards, until, after.At, after.ID[:], most)
		if err != nil {
			return nil, err
		}
		rows, more = complete(rows, most)
		page = append(page, rows...)
		if more {
			after = page[len(page)-1]
		}
	}
	return page[:min(len(page), max(limit, 0))], nil
}

// complete cuts rows, in their order, off behind the first place at which a shard has as many as were asked for: it may have
// others behind that. More says that it was cut, or may be continued.
func complete(rows []journal.Wake, most int) (page []journal.Wake, more bool) {
	seen := map[journal.Shard]int{}
	for i, w := range rows {
		shard := w.ID.Shard()
		if seen[shard]++; seen[shard] == most {
			return rows[:i+1], true
		}
	}
	return rows, false
}
