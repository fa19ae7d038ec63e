package postgres

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/journal"
)

// TestListPlans asks Postgres how it lists thousands of executions, in a store like a host's: it
// looks at a few rows, by an index, whatever the filter.
func TestListPlans(t *testing.T) {
	t.Parallel()
	store, epochs := openInside(t)
	for batch := range 10 {
		var executions []journal.Execution
		for i := range 600 {
			i += batch * 600
			e := journal.Execution{
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
			executions = append(executions, e)
		}
		store.start(t, epochs, executions)
	}
	for name, c := range map[string]struct {
		filter journal.Filter
		want   int
	}{
		"all":             {journal.Filter{Namespace: "default"}, 20},
		"state":           {journal.Filter{Namespace: "default", State: journal.Paused}, 3},
		"common state":    {journal.Filter{Namespace: "default", State: journal.Completed}, 20},
		"workflow":        {journal.Filter{Namespace: "default", Workflow: "orders/Rare"}, 3},
		"common workflow": {journal.Filter{Namespace: "default", Workflow: "orders/Process"}, 20},
		"workflow and state": {
			journal.Filter{Namespace: "default", Workflow: "orders/Process", State: journal.Failed}, 0,
		},
		"deployment":          {journal.Filter{Namespace: "default", Workflow: "orders/"}, 20},
		"deployment in state": {journal.Filter{Namespace: "default", Workflow: "orders/", State: journal.Paused}, 3},
		"every namespace":     {journal.Filter{State: journal.Paused}, 3},
	} {
		c.filter.Limit = 20
		page, err := store.List(t.Context(), c.filter)
		require.NoError(t, err, name)
		require.Len(t, page.Executions, c.want, name)
		query, args := store.sql.listQuery(c.filter, c.filter.Limit+1, journal.Wake{})
		p := store.explain(t, query, args...)
		require.False(t, p.has(func(p explained) bool { return p.NodeType == "Seq Scan" }), "%s: %+v", name, p)
		require.True(t, p.has(func(p explained) bool { return p.IndexName == "executions_strand" }), "%s: %+v", name, p)
		require.LessOrEqual(t, p.walked(), 200.0, "%s: %+v", name, p)
	}
}
