package sqlite_test

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/journal/sqlite"
)

// TestBriefRowsAreSmall: a hundred brief rows of an execution with an input and a result of 4 MiB each take less memory
// than one payload.
func TestBriefRowsAreSmall(t *testing.T) {
	store := open(t, sqlite.Config{Dir: t.TempDir()})
	fences, err := store.ClaimShards(t.Context(), "test")
	require.NoError(t, err)
	id := journal.IDOf("default", "w", "k")
	row := journal.Execution{
		ID:        id,
		Run:       journal.RunID(id),
		Chain:     journal.RunID(id),
		Namespace: "default",
		Workflow:  "w",
		Key:       "k",
		State:     journal.Completed,
		Input:     make([]byte, 4<<20),
		Value:     make([]byte, 4<<20),
	}
	results, err := store.Commit(t.Context(), []journal.Write{{
		Fence: fences[id.Shard()], ID: id, Run: row.Run, Chain: row.Chain, Start: &row,
	}})
	require.NoError(t, err)
	require.NoError(t, results[0].Err)
	allocated := func(read func()) uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		read()
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	brief := allocated(func() {
		for range 100 {
			_, err := store.Brief(t.Context(), id)
			require.NoError(t, err)
		}
	})
	whole := allocated(func() {
		_, err := store.Load(t.Context(), id)
		require.NoError(t, err)
	})
	require.Less(t, brief, uint64(4<<20))
	require.Greater(t, whole, uint64(8<<20)-1)
}
