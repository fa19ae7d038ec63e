package postgres

import (
	"bytes"
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/journal/sqlread"
)

// # Due executions, by shards
//
// The indexes of wake times begin with the shard: a host of a cluster reads its own shards and
// nothing else. The due executions are wanted in the order of time over all of them. To read a page
// from each shard and sort would read a thousand times too much, page after page, if much is due.
// So the first query of a page reads a few rows of each shard. They are merged until the page is
// full, or until the last row that was read of a shard which may have more: then that shard, and
// the next to run out, are read on. Executions that are due at the same time, as all are that wait
// for the host, come in the order of their shards, so that a page of them takes most of its rows
// from a few. If nothing is due, as a rule, one query looks once into the index for each shard.

// readOn is how many shards are read on at once.
const readOn = 16

// dueScan reads a few rows behind each of some places, each in the shard of its ID, in order.
type dueScan func(after []shardPlace, most int) ([]journal.Wake, error)

// pageOfDue is the first page behind a place.
func pageOfDue(after journal.Wake, limit int, scan dueScan) (page []journal.Wake, err error) {
	if limit <= 0 {
		return nil, nil
	}
	places := make([]shardPlace, journal.NumShards)
	for shard := range places {
		places[shard] = shardPlace{int16(shard), after}
	}
	most := min(4*limit/journal.NumShards+4, limit)
	var rest []journal.Wake
	cut := map[journal.Wake]bool{} // the last rows that were read of shards which may have more
	for more := places; ; {
		found, err := scan(more, most)
		if err != nil {
			return nil, err
		}
		noteCut(cut, found, most)
		rest = append(rest, found...)
		slices.SortFunc(rest, inOrder)
		n := 0
		for n < len(rest) && len(page) < limit && (n == 0 || !cut[rest[n-1]]) {
			page = append(page, rest[n])
			n++
		}
		if len(page) == limit || n == 0 || !cut[rest[n-1]] {
			return page, nil
		}
		rest = rest[n:]
		more, most = nextCut(cut), min(4*most, limit)
	}
}

// shardPlace is where the scan of a shard goes on.
type shardPlace struct {
	shard int16
	journal.Wake
}

func inOrder(a, b journal.Wake) int {
	return cmp.Or(cmp.Compare(a.At, b.At), bytes.Compare(a.ID[:], b.ID[:]))
}

// noteCut notes the last row of each shard that has as many as were asked for.
func noteCut(cut map[journal.Wake]bool, found []journal.Wake, most int) {
	seen := map[journal.Shard]int{}
	for _, w := range found {
		if seen[w.ID.Shard()]++; seen[w.ID.Shard()] == most {
			cut[w] = true
		}
	}
}

// nextCut takes the shards that run out first.
func nextCut(cut map[journal.Wake]bool) (places []shardPlace) {
	for _, w := range slices.SortedFunc(maps.Keys(cut), inOrder) {
		if len(places) == readOn {
			break
		}
		places = append(places, shardPlace{int16(w.ID.Shard()), w})
		delete(cut, w)
	}
	return places
}

// dueQuery lists due rows behind a place in each shard, a few rows of each. All of it is in the
// index.
func dueQuery(table, only string) string {
	return `SELECT w.id, w.wake_at FROM unnest($1::int2[], $3::int8[], $4::bytea[]) AS s (shard, at, id) CROSS
		JOIN LATERAL (
			SELECT x.wake_at, x.id FROM ` + table + ` x WHERE x.shard = s.shard` + only +
		` AND x.wake_at <= $2 AND (x.wake_at, x.id) > (s.at, s.id)
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

func (s *Store) due(
	ctx context.Context, what, query string, until int64, after journal.Wake, limit int,
) ([]journal.Wake, error) {
	return pageOfDue(after, limit, func(after []shardPlace, most int) ([]journal.Wake, error) {
		shards, times, ids := make([]int16, len(after)), make([]int64, len(after)), make([][]byte, len(after))
		for i := range after {
			shards[i], times[i], ids[i] = after[i].shard, after[i].At, after[i].ID[:]
		}
		return sqlread.All(ctx, s.reader, sqlread.ScanWake, what, nil, query, shards, until, times, ids, most)
	})
}
