package postgres

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/journal"
)

// A sweep does not walk over what earlier ones have found that must be kept.
func TestSweepDoesNotRescan(t *testing.T) {
	t.Parallel()
	store, fences := openInside(t)
	newExecution := func(key string) journal.Execution {
		id := journal.IDOf("default", "orders/Process", key)
		return journal.Execution{ID: id, Run: journal.RunID(id), Namespace: "default", Workflow: "orders/Process", Key: key, State: journal.Running, CreatedAt: 1}
	}
	parent := newExecution("parent")
	executions := []journal.Execution{parent}
	for i := range 3000 {
		e := newExecution(fmt.Sprint(i))
		e.Parent = journal.Caller{ID: parent.ID, Run: parent.Run, Step: journal.StepID{byte(i), byte(i >> 8)}}
		e.State, e.WakeAt, e.FinishedAt = journal.Completed, journal.Never, int64(i+1)
		executions = append(executions, e)
	}
	store.start(t, fences, executions)
	walked := func() float64 {
		p := store.explain(t, store.sql.selectExpired(), journal.Never, int64(0), make([]byte, 16), int64(0), journal.SweepBatch)
		require.True(t, p.has(func(p explained) bool { return p.IndexName == "executions_finished" }), "%+v", p)
		return p.walked()
	}
	require.GreaterOrEqual(t, walked(), float64(journal.SweepBatch))
	n, err := store.Sweep(t.Context(), fences, journal.Never, 500)
	require.NoError(t, err)
	require.Zero(t, n)
	require.Zero(t, walked(), "what is kept is not looked at again")
}
