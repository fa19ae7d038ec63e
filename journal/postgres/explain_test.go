package postgres

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/internal/pgtest"
	"github.com/cruster/cruster/journal"
)

// explained is a node of the output of EXPLAIN.
type explained struct {
	NodeType      string      `json:"Node Type"`
	IndexName     string      `json:"Index Name"`
	RelationName  string      `json:"Relation Name"`
	ActualRows    float64     `json:"Actual Rows"`
	ActualLoops   float64     `json:"Actual Loops"`
	RemovedFilter float64     `json:"Rows Removed by Filter"`
	Plans         []explained `json:"Plans"`
}

// walked is how many rows of the tables the query looked at.
func (p explained) walked() (rows float64) {
	if p.RelationName != "" {
		rows = (p.ActualRows + p.RemovedFilter) * p.ActualLoops
	}
	for _, child := range p.Plans {
		rows += child.walked()
	}
	return rows
}

func (p explained) has(match func(explained) bool) bool {
	found := match(p)
	for _, child := range p.Plans {
		found = found || child.has(match)
	}
	return found
}

// explain runs a query on a connection of the store and tells how it was done.
func (s *Store) explain(t *testing.T, query string, args ...any) explained {
	var text []byte
	require.NoError(t, s.main.QueryRow(t.Context(), "EXPLAIN (ANALYZE, FORMAT JSON) "+query, args...).Scan(&text))
	var plans []struct{ Plan explained }
	require.NoError(t, json.Unmarshal(text, &plans))
	return plans[0].Plan
}

// openInside opens a store for tests of plans. They fill tables with commits that are larger than a host's, and
// a busy machine may take its time for them.
func openInside(t *testing.T) (*Store, []journal.Fence) {
	store, err := Open(t.Context(), Config{CallLimit: time.Minute, DSN: pgtest.DSN(t), Schema: pgtest.Schema(t)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	fences, err := store.ClaimShards(t.Context(), "test")
	require.NoError(t, err)
	return store, fences
}

// start commits executions as they are.
func (s *Store) start(t *testing.T, fences []journal.Fence, executions []journal.Execution) {
	writes := make([]journal.Write, len(executions))
	for i := range executions {
		e := &executions[i]
		writes[i] = journal.Write{ID: e.ID, Run: e.Run, Fence: fences[e.ID.Shard()], Start: e}
	}
	results, err := s.Commit(t.Context(), writes)
	require.NoError(t, err)
	for _, r := range results {
		require.NoError(t, r.Err)
	}
}
