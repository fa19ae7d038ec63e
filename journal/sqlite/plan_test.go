package sqlite

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"zombiezen.com/go/sqlite"

	"github.com/cruster/cruster/journal"
)

// The queries that run all the time must not walk through whole tables.
func TestQueryPlans(t *testing.T) {
	t.Parallel()
	store, err := Open(t.Context(), Config{Dir: t.TempDir()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	entities := func(f journal.EntityFilter) string {
		query, _ := entitiesQuery(&f)
		return query
	}
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

		selectInbox:                      "sqlite_autoindex_cruster_inbox_1 (shard=? AND id=? AND position>?)",
		selectMessages:                   "sqlite_autoindex_cruster_inbox_1 (shard=? AND id=? AND position>?)",
		selectMessage:                    "sqlite_autoindex_cruster_inbox_1 (shard=? AND id=? AND position=?)",
		selectMessageOf:                  "cruster_inbox_origin (shard=? AND id=? AND origin=?)",
		selectTally:                      "(shard=? AND id=?)",
		selectNextReceiver:               "((shard,id)>(?,?))",
		selectReceipt:                    "sqlite_autoindex_cruster_receipts_1 (shard=? AND id=? AND origin=?)",
		selectReceiptOf:                  "sqlite_autoindex_cruster_receipts_1 (shard=? AND id=? AND origin=?)",
		selectOldReceipts:                "cruster_receipts_at",
		selectHeldReceipts:               "cruster_receipts_held (sender_run=?)",
		selectLiveRun:                    "PRIMARY KEY",
		selectSweepSize:                  "(shard=? AND id=?)",
		selectEntity:                     "sqlite_autoindex_cruster_entities_1 (shard=? AND id=?)",
		entities(journal.EntityFilter{}): "cruster_entities_name ((namespace,type,key)>(?,?,?))",
		entities(journal.EntityFilter{Namespace: "n"}):                       "cruster_entities_name (namespace=? AND (type,key)>(?,?)",
		entities(journal.EntityFilter{Namespace: "n", Type: "bank/"}):        "cruster_entities_name (namespace=? AND (type,key)>(?,?) AND type<?)",
		entities(journal.EntityFilter{Namespace: "n", Type: "bank/Account"}): "cruster_entities_name (namespace=? AND (type,key)>(?,?) AND type<?)",
	} {
		var plan []string
		err := store.read(t.Context(), func(conn *sqlite.Conn) error {
			return run(conn, "EXPLAIN QUERY PLAN "+query, nil, func(row *sqlite.Stmt) error {
				plan = append(plan, row.ColumnText(3))
				return nil
			})
		})
		require.NoError(t, err)
		steps := strings.ReplaceAll(strings.Join(plan, "\n"), "SCAN (subquery", "(subquery") // that of the rows of the query itself
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
