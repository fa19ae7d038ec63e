package sqlite

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"zombiezen.com/go/sqlite"

	"github.com/cruster/cruster/abi"
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
	parked := func(f journal.ParkedFilter) string {
		query, _ := parkedQuery(&f)
		return query
	}
	where := func(operators ...string) string {
		f := journal.Filter{State: journal.Running}
		for _, operator := range operators {
			f.Where = append(f.Where, journal.Condition{Name: "a", Operator: operator, Value: abi.Attribute{Type: abi.AttributeText}})
		}
		return whereQuery(&f)
	}
	number := journal.Condition{Name: "a", Operator: "=", Value: abi.Attribute{Type: abi.AttributeNumber}}
	const ofOneValue = "cruster_attributes_value (namespace=? AND name=? AND type=? AND text=? AND number=? AND (created_at,id)"
	for query, index := range map[string]string{
		selectDue: "cruster_executions_wake",
		selectExecution + " WHERE e.shard = ?1 AND e.id = ?2 AND e.superseded = 0": "PRIMARY KEY (shard=? AND id=? AND superseded=?)",
		selectRun:                 "PRIMARY KEY (shard=? AND id=?)",
		selectEarlier:             "PRIMARY KEY (shard=? AND id=? AND superseded>? AND superseded<?)",
		selectRequested:           "PRIMARY KEY (shard=? AND id=? AND superseded=?)",
		selectRequestedSuperseded: "cruster_executions_request (shard=? AND id=? AND request=? AND superseded>?)",
		selectEntries:             "PRIMARY KEY (shard=? AND run=? AND seq>?)",
		selectLastBefore:          "PRIMARY KEY (shard=? AND run=? AND seq<?)",
		selectStarted:             "cruster_executions_parent",
		selectLink:                "PRIMARY KEY",
		selectExpired:             "cruster_executions_finished",
		selectOverHolder:          "cruster_executions_holders",
		selectHeld:                "cruster_executions_held",
		selectNextStrand:          "cruster_executions_strand",
		selectOfStrand:            "cruster_executions_strand",
		selectListed:              "PRIMARY KEY",

		selectInbox:                "sqlite_autoindex_cruster_inbox_1 (shard=? AND id=? AND chain=? AND position>?)",
		selectMessages:             "sqlite_autoindex_cruster_inbox_1 (shard=? AND id=? AND chain=? AND position>?)",
		selectMessage:              "sqlite_autoindex_cruster_inbox_1 (shard=? AND id=? AND chain=? AND position=?)",
		selectMessageOf:            "cruster_inbox_origin (shard=? AND id=? AND origin=? AND chain=?)",
		selectTally:                "(shard=? AND id=? AND chain=?)",
		selectNextReceiver:         "((shard,id)>(?,?))",
		selectReceipt:              "sqlite_autoindex_cruster_receipts_1 (shard=? AND id=? AND origin=?)",
		selectReceiptOf:            "sqlite_autoindex_cruster_receipts_1 (shard=? AND id=? AND origin=?)",
		selectOldReceipts:          "cruster_receipts_at",
		selectHeldReceipts:         "cruster_receipts_held (sender_run=?)",
		selectLiveRun:              "cruster_executions_run (shard=? AND run=?)",
		selectLock:                 "PRIMARY KEY (shard=? AND id=?)",
		selectInSection:            "cruster_executions_run (shard=? AND run=?)",
		selectLocks:                "PRIMARY KEY ((shard,id)>(?,?))",
		selectLocksOfNamespace:     "cruster_locks_namespace (namespace=? AND id>?)",
		releaseMessages:            "cruster_inbox_held (shard=? AND id=?)",
		holdMessage:                "sqlite_autoindex_cruster_inbox_1 (shard=? AND id=? AND chain=? AND position=?)",
		selectPublished:            "sqlite_autoindex_cruster_published_1 (shard=? AND run=?)",
		selectAttributes:           "PRIMARY KEY (shard=? AND id=?)",
		selectNextAttributes:       "cruster_attributes_value (namespace>?)",
		where("="):                 ofOneValue,
		where(">", "<", "=", "<="): ofOneValue,
		whereQuery(&journal.Filter{Where: []journal.Condition{number}}): ofOneValue,
		selectEntity:                                                         "sqlite_autoindex_cruster_entities_1 (shard=? AND id=?)",
		entities(journal.EntityFilter{}):                                     "cruster_entities_name ((namespace,type,key)>(?,?,?))",
		entities(journal.EntityFilter{Namespace: "n"}):                       "cruster_entities_name (namespace=? AND (type,key)>(?,?)",
		entities(journal.EntityFilter{Namespace: "n", Type: "bank/"}):        "cruster_entities_name (namespace=? AND (type,key)>(?,?) AND type<?)",
		entities(journal.EntityFilter{Namespace: "n", Type: "bank/Account"}): "cruster_entities_name (namespace=? AND (type,key)>(?,?) AND type<?)",

		parkMessage:                    "sqlite_autoindex_cruster_inbox_1 (shard=? AND id=? AND chain=? AND position=?)",
		unparkMessage:                  "sqlite_autoindex_cruster_inbox_1 (shard=? AND id=? AND chain=? AND position=?)",
		selectParkedTally:              "INDEX cruster_inbox_parked (shard=? AND id=?)",
		parked(journal.ParkedFilter{}): "cruster_inbox_parked_list ((namespace,type,key,position)>(?,?,?,?))",
		parked(journal.ParkedFilter{Namespace: "n"}):                                 "cruster_inbox_parked_list (namespace=? AND (type,key,position)>(?,?,?)",
		parked(journal.ParkedFilter{Namespace: "n", Type: "bank/"}):                  "cruster_inbox_parked_list (namespace=? AND (type,key,position)>(?,?,?) AND type<?)",
		parked(journal.ParkedFilter{Namespace: "n", Type: "bank/Account", Key: "k"}): "cruster_inbox_parked_list (namespace=? AND type=? AND key=? AND position>?)",
	} {
		steps := store.plan(t, query)
		require.Contains(t, steps, index, query)
		require.NotContains(t, steps, "SCAN", query)
		require.NotContains(t, steps, "TEMP B-TREE", query)
	}
	require.Contains(t, store.plan(t, selectRetiredHolder), "cruster_retired_holders", "of which all rows fit")
	// What a range yields is sorted.
	for _, operator := range []string{"<", "<=", ">", ">="} {
		steps := store.plan(t, where(operator))
		require.Contains(t, steps, "cruster_attributes_value (namespace=? AND name=? AND type=? AND text"+operator[:1]+"?)")
		require.NotContains(t, steps, "SCAN")
	}
}

// plan is how SQLite goes about a query.
func (s *Store) plan(t *testing.T, query string) string {
	t.Helper()
	var plan []string
	err := s.read(t.Context(), func(conn *sqlite.Conn) error {
		return run(conn, "EXPLAIN QUERY PLAN "+query, nil, func(row *sqlite.Stmt) error {
			plan = append(plan, row.ColumnText(3))
			return nil
		})
	})
	require.NoError(t, err)
	return strings.ReplaceAll(strings.Join(plan, "\n"), "SCAN (subquery", "(subquery") // that of the rows of the query itself
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
