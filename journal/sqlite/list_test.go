package sqlite

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"zombiezen.com/go/sqlite"

	"github.com/cruster/cruster/journal"
)

// listFilters are usual queries of operators, and how many executions TestListSteps has for each.
var listFilters = map[string]struct {
	filter journal.Filter
	want   int
}{
	"all":                 {journal.Filter{Namespace: "default"}, 20},
	"state":               {journal.Filter{Namespace: "default", State: journal.Paused}, 3},
	"common state":        {journal.Filter{Namespace: "default", State: journal.Completed}, 20},
	"workflow":            {journal.Filter{Namespace: "default", Workflow: "orders/Rare"}, 3},
	"common workflow":     {journal.Filter{Namespace: "default", Workflow: "orders/Process"}, 20},
	"workflow and state":  {journal.Filter{Namespace: "default", Workflow: "orders/Process", State: journal.Failed}, 0},
	"deployment":          {journal.Filter{Namespace: "default", Workflow: "orders/"}, 20},
	"deployment in state": {journal.Filter{Namespace: "default", Workflow: "orders/", State: journal.Paused}, 3},
	"every namespace":     {journal.Filter{State: journal.Paused}, 3},
}

// TestListSteps shows by counting that a page costs the same work in a store of ten times as many executions, whatever
// the filter.
func TestListSteps(t *testing.T) {
	t.Parallel()
	small, large := listed(t, 600), listed(t, 6000)
	for name, c := range listFilters {
		c.filter.Limit = 20
		require.Equal(t, small(c.filter, c.want), large(c.filter, c.want), name)
	}
}

// listed makes a store of so many executions that are completed, and three that are paused, which started before them.
// The function lists and counts the steps.
func listed(t *testing.T, n int) func(f journal.Filter, want int) int {
	store, err := Open(t.Context(), Config{Dir: t.TempDir(), MaxReaders: 1})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	fences, err := store.ClaimShards(t.Context(), "test")
	require.NoError(t, err)
	var writes []journal.Write
	for i := range n {
		e := &journal.Execution{
			Namespace:  "default",
			Workflow:   "orders/Process",
			Key:        fmt.Sprint(i),
			State:      journal.Completed,
			FinishedAt: 1,
			CreatedAt:  int64(i),
		}
		switch {
		case i < 3:
			e.Workflow, e.State, e.FinishedAt = "orders/Rare", journal.Paused, 0
		case i%3 == 0:
			e.Workflow = "bank/Transfer"
		}
		e.ID = journal.IDOf(e.Namespace, e.Workflow, e.Key)
		e.Run = journal.RunID(e.ID)
		writes = append(writes, journal.Write{ID: e.ID, Run: e.Run, Fence: fences[e.ID.Shard()], Start: e})
	}
	results, err := store.Commit(t.Context(), writes)
	require.NoError(t, err)
	for _, r := range results {
		require.NoError(t, r.Err)
	}
	return func(f journal.Filter, want int) (steps int) {
		page, err := store.List(t.Context(), f)
		require.NoError(t, err)
		require.Len(t, page.Executions, want, "%+v", f)
		require.NoError(t, store.read(t.Context(), func(conn *sqlite.Conn) error {
			for _, query := range []string{selectNextWorkflowState, selectOfWorkflowState, selectListed} {
				steps += stepsOf(t, conn, query)
			}
			return nil
		}))
		return steps
	}
}
