package sqlite

import (
	"testing"

	"github.com/stretchr/testify/require"
	"zombiezen.com/go/sqlite"

	"github.com/cruster/cruster/journal"
)

// To continue a run, to start it over and to delete it changes the same few rows, however long its journal is.
func TestRowsChangedByTheEndOfARun(t *testing.T) {
	t.Parallel()
	changed := func(entries int) (rows [3]int64) {
		store := openInside(t)
		fences, err := store.ClaimShards(t.Context(), "test")
		require.NoError(t, err)
		count := func() (n int64) {
			require.NoError(t, run(store.writer, "SELECT total_changes()", nil, func(row *sqlite.Stmt) error {
				n = row.ColumnInt64(0)
				return nil
			}))
			return n
		}
		commit := func(w journal.Write) {
			results, err := store.Commit(t.Context(), []journal.Write{w})
			require.NoError(t, err)
			require.NoError(t, results[0].Err)
		}
		id := journal.IDOf("default", "orders/Process", "k")
		fence := fences[id.Shard()]
		live := func(start *journal.Write) {
			e := &journal.Execution{
				ID:        id,
				Run:       start.Run,
				Chain:     start.Run,
				Namespace: "default",
				Workflow:  "orders/Process",
				Key:       "k",
				State:     journal.Running,
			}
			start.ID, start.Fence, start.Start = id, fence, e
			commit(*start)
		}
		fill := func(run journal.RunID, chain journal.RunID) {
			for seq := range uint64(entries) {
				commit(journal.Write{
					ID:      id,
					Run:     run,
					Chain:   chain,
					Fence:   fence,
					Entries: []journal.Entry{{Seq: 2*seq + 1, Kind: journal.Delivery}},
				})
			}
		}
		first, second, third := journal.RunID{1}, journal.RunID{2}, journal.RunID{3}
		live(&journal.Write{Run: first})
		fill(first, first)
		before := count()
		commit(journal.Write{ID: id, Run: first, Fence: fence, Continue: &journal.Continuation{Run: second}})
		rows[0] = count() - before
		fill(second, first)
		end := &journal.Update{State: journal.Completed, WakeAt: journal.Never, FinishedAt: 1}
		commit(journal.Write{ID: id, Run: second, Chain: first, Fence: fence, Update: end})
		before = count()
		live(&journal.Write{Run: third, Replace: second})
		rows[1] = count() - before
		fill(third, third)
		commit(journal.Write{ID: id, Run: third, Fence: fence, Update: end})
		before = count()
		require.NoError(t, store.Delete(t.Context(), fence, id, third, 0))
		rows[2] = count() - before
		return rows
	}
	few := changed(2)
	require.Equal(t, few, changed(300))
	require.Equal(
		t, [3]int64{3, 3, 2}, few,
		"continued: the row, its input, what Purge finds it by; started over: two rows and an input; deleted: the "+
			"row, what Purge finds it by",
	)
}
