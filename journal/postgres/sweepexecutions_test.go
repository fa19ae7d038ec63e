package postgres

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/journal"
)

// A sweep does not walk over the rows that earlier ones have found and must keep.
func TestSweepDoesNotRescan(t *testing.T) {
	t.Parallel()
	store, fences := openInside(t)
	newExecution := func(key string) journal.Execution {
		id := journal.IDOf("default", "orders/Process", key)
		return journal.Execution{
			ID:        id,
			Run:       journal.RunID(id),
			Namespace: "default",
			Workflow:  "orders/Process",
			Key:       key,
			State:     journal.Running,
			CreatedAt: 1,
		}
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
		p := store.explain(
			t, store.sql.selectExpired(), allShards, journal.Never, int16(0), int64(0), make([]byte, 16), int64(0),
			journal.SweepBatch,
		)
		require.True(t, p.has(func(p explained) bool { return p.IndexName == "executions_expired" }), "%+v", p)
		return p.walked()
	}
	require.GreaterOrEqual(t, walked(), float64(journal.SweepBatch))
	n, err := store.Sweep(t.Context(), fences, journal.Never, 500)
	require.NoError(t, err)
	require.Zero(t, n)
	require.Zero(t, walked(), "what is kept is not looked at again")
}

// A store may have rows of a run that was started twice, from before that was refused. They hold up no sweep, no
// deletion and no continuation.
func TestSweepOfARunRetiredBefore(t *testing.T) {
	t.Parallel()
	store, fences := openInside(t)
	execution := func(key string, state journal.State) journal.Execution {
		id := journal.IDOf("default", "orders/Process", key)
		return journal.Execution{
			ID:         id,
			Run:        journal.RunID(id),
			Chain:      journal.RunID(id),
			Namespace:  "default",
			Workflow:   "orders/Process",
			Key:        key,
			State:      state,
			FinishedAt: 1,
		}
	}
	swept, deleted, continued := execution("swept", journal.Completed), execution(
		"deleted", journal.Completed,
	), execution("continued", journal.Running)
	continued.FinishedAt = 0
	other := execution("other", journal.Completed)
	store.start(t, fences, []journal.Execution{swept, deleted, continued, other})
	_, err := store.main.Exec(t.Context(), `INSERT INTO `+store.sql.retired+`
		SELECT shard, run, id, NULL, key = 'swept' FROM `+store.sql.executions+` WHERE key <> 'other'`)
	require.NoError(t, err)

	require.NoError(t, store.Delete(t.Context(), fences[deleted.ID.Shard()], deleted.ID, deleted.Run, 0))
	w := journal.Write{
		ID:       continued.ID,
		Run:      continued.Run,
		Fence:    fences[continued.ID.Shard()],
		Continue: &journal.Continuation{Run: journal.RunID{1}},
	}
	results, err := store.Commit(t.Context(), []journal.Write{w})
	require.NoError(t, err)
	require.NoError(t, results[0].Err)
	n, err := store.Sweep(t.Context(), fences, journal.Never, 10)
	require.NoError(t, err)
	require.Equal(t, 2, n)
	_, err = store.Purge(t.Context(), fences, 1000)
	require.NoError(t, err)
	left := 0
	require.NoError(
		t, store.main.QueryRow(t.Context(), `SELECT count(*) FROM `+store.sql.retired+` WHERE NOT holds`).Scan(&left),
	)
	require.Zero(t, left)
}
