package sqlite

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"zombiezen.com/go/sqlite"
)

// The queries that run all the time must not walk through whole tables.
func TestQueryPlans(t *testing.T) {
	t.Parallel()
	store, err := Open(t.Context(), Config{Dir: t.TempDir()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	for query, index := range map[string]string{
		selectDue: "cruster_executions_wake",
		selectExecution + " WHERE e.shard = ?1 AND e.id = ?2": "PRIMARY KEY",
		selectStarted:    "cruster_executions_parent",
		selectLink:       "PRIMARY KEY",
		selectExpired:    "cruster_executions_finished",
		selectOverHolder: "cruster_executions_holders",
		selectHeld:       "cruster_executions_held",
		selectNextStrand: "cruster_executions_strand",
		selectOfStrand:   "cruster_executions_strand",
		selectListed:     "PRIMARY KEY",
	} {
		var plan []string
		err := store.read(t.Context(), func(conn *sqlite.Conn) error {
			return run(conn, "EXPLAIN QUERY PLAN "+query, nil, func(row *sqlite.Stmt) error {
				plan = append(plan, row.ColumnText(3))
				return nil
			})
		})
		require.NoError(t, err)
		steps := strings.Join(plan, "\n")
		require.Contains(t, steps, index, query)
		require.NotContains(t, steps, "SCAN", query)
		require.NotContains(t, steps, "TEMP B-TREE", query)
	}
}

func TestDurabilitySettings(t *testing.T) {
	t.Parallel()
	store, err := Open(t.Context(), Config{Dir: t.TempDir()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	for pragma, want := range map[string]string{"journal_mode": "wal", "synchronous": "2", "foreign_keys": "1"} {
		var got string
		require.NoError(t, run(store.writer, "PRAGMA "+pragma, nil, func(row *sqlite.Stmt) error {
			got = row.ColumnText(0)
			return nil
		}))
		require.Equal(t, want, got, pragma)
	}
}
