package postgres

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"sort"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/journal"
)

// allShards are the shards of a host that owns all.
var allShards = func() (shards []int16) {
	for shard := range int16(journal.NumShards) {
		shards = append(shards, shard)
	}
	return shards
}()

// TestPagesOfDue pages through wakes that are spread over time, are all at one time, or are all in one shard.
// Executions that wait for the host are all due at one time.
func TestPagesOfDue(t *testing.T) {
	t.Parallel()
	const limit = 1000
	for name, c := range map[string]struct {
		n, queries int // at most
		wake       func(i int, w *journal.Wake)
	}{
		"nothing":     {0, 1, nil},
		"few":         {900, 1, func(i int, w *journal.Wake) { w.At = int64(i) }},
		"spread":      {20_000, 25, func(i int, w *journal.Wake) { w.At = int64(i * 7919 % 20_011) }},
		"at one time": {50_000, 250, func(_ int, w *journal.Wake) { w.At = journal.Now }},
		"one shard":   {5_000, 30, func(i int, w *journal.Wake) { w.ID[0], w.ID[1], w.At = 3, 0, int64(i/3) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			byShard := make([][]journal.Wake, journal.NumShards)
			var all []journal.Wake
			for i := range c.n {
				sum := sha256.Sum256(fmt.Append(nil, i))
				w := journal.Wake{ID: journal.ID(sum[:16])}
				c.wake(i, &w)
				all = append(all, w)
				byShard[w.ID.Shard()] = append(byShard[w.ID.Shard()], w)
			}
			slices.SortFunc(all, inOrder)
			for _, shard := range byShard {
				slices.SortFunc(shard, inOrder)
			}
			queries := 0
			scan := func(after []shardPlace, most int) (found []journal.Wake, err error) {
				queries++
				for _, p := range after {
					rows := byShard[p.shard]
					from := sort.Search(len(rows), func(i int) bool { return inOrder(rows[i], p.Wake) > 0 })
					found = append(found, rows[from:min(from+most, len(rows))]...)
				}
				return found, nil
			}
			var read []journal.Wake
			after := journal.Wake{At: -1}
			for more := true; more; {
				page, err := pageOfDue(after, limit, scan)
				require.NoError(t, err)
				if more = len(page) == limit; len(page) > 0 {
					after = page[len(page)-1]
				}
				read = append(read, page...)
			}
			require.Equal(t, all, read)
			require.LessOrEqual(t, queries, c.queries)
		})
	}
	page, err := pageOfDue(journal.Wake{}, 0, nil)
	require.NoError(t, err)
	require.Empty(t, page)
}
