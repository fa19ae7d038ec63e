package upgrade_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/host"
	"github.com/cruster/cruster/internal/harness"
	"github.com/cruster/cruster/journal"
)

// TestCheckOfAThousand replays a thousand open executions on a module that fits them all and on another that fits none.
func TestCheckOfAThousand(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, store journal.Store, g guest) {
		const n = 1000
		e := harness.Engine(t, store)
		g.push(t, e, "base")
		model := atGate(t, e, "order")
		row, err := e.Observer().Poll(t.Context(), "", model)
		require.NoError(t, err)
		entries, _, err := e.Observer().History(t.Context(), "", model, 0, 100)
		require.NoError(t, err)
		require.NoError(t, e.Stop(context.Background()))
		multiply(t, store, row, entries, n-1)

		e = harness.Engine(t, store)
		for version, fitting := range map[string]int{"inserted": n, "removed": 0} {
			began, seen, fits := time.Now(), 0, 0
			require.NoError(
				t,
				e.Deployments().Check(
					t.Context(),
					host.CheckRequest{Name: "change", Binary: harness.Module(t, g.folder(version))},
					func(r host.CheckResult, done, total int) error {
						require.Equal(t, n, total)
						seen++
						require.Equal(t, seen, done)
						if r.Fits {
							fits++
						} else {
							require.Contains(t, r.Diff.String(), "charge")
						}
						return nil
					},
				),
			)
			t.Logf("%s: %d of %d fit, after %v", version, fits, seen, time.Since(began))
			require.Equal(t, n, seen)
			require.Equal(t, fitting, fits)
		}
	}, "inserted", "removed")
}

// multiply puts executions into a store that are as far as a model of them is, under keys and with runs of their own.
// To have each take its steps would take minutes.
func multiply(t *testing.T, store journal.Store, model *journal.Execution, entries []journal.Entry, n int) {
	t.Helper()
	fences, err := store.ClaimShards(t.Context(), "the test")
	require.NoError(t, err)
	var batch []journal.Write
	for i := range n {
		row := *model
		row.Key, row.Run, row.WakeAt = fmt.Sprint("order ", i), journal.NewRunID(), journal.Never
		row.ID, row.Chain, row.Pinned.Seed = journal.IDOf(row.Namespace, row.Workflow, row.Key), row.Run, row.Run
		batch = append(batch, journal.Write{
			ID: row.ID, Run: row.Run, Fence: fences[row.ID.Shard()], Start: &row, Entries: entries,
		})
	}
	for len(batch) > 0 {
		part := batch[:min(100, len(batch))]
		batch = batch[len(part):]
		results, err := store.Commit(t.Context(), part)
		require.NoError(t, err)
		for _, result := range results {
			require.NoError(t, result.Err)
		}
	}
}
