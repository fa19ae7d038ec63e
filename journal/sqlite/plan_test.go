package sqlite

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"
	lib "modernc.org/sqlite/lib"
	"zombiezen.com/go/sqlite"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// The queries that run all the time must not walk through whole tables. The file shows how SQLite
// goes about each, as the other store's does: an index, or the key of a table, with the columns
// that it is searched by.
func TestQueryPlans(t *testing.T) {
	t.Parallel()
	store, err := Open(t.Context(), Config{Dir: t.TempDir()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	entities := func(f journal.EntityFilter) string {
		query, _ := reads.Entities(&f)
		return query
	}
	parked := func(f journal.ParkedFilter) string {
		query, _ := reads.Parked(&f)
		return query
	}
	where := func(operators ...string) string {
		f := journal.Filter{State: journal.Running}
		for _, operator := range operators {
			f.Where = append(f.Where, journal.Condition{
				Name: "a", Operator: operator, Value: abi.Attribute{Type: abi.AttributeText},
			})
		}
		return whereQuery(&f)
	}
	number := journal.Condition{Name: "a", Operator: "=", Value: abi.Attribute{Type: abi.AttributeNumber}}
	queries := map[string]string{
		"due":                    selectDue,
		"run":                    reads.FindRun,
		"earlier":                reads.Earlier,
		"requested":              reads.Requested,
		"requested superseded":   reads.RequestedSuperseded,
		"entries":                selectEntries,
		"last before":            selectLastBefore,
		"started":                reads.Started,
		"link":                   reads.Linked,
		"expired":                selectExpired,
		"over holder":            selectOverHolder,
		"held":                   selectHeld,
		"next workflow state":    selectNextWorkflowState,
		"of workflow state":      selectOfWorkflowState,
		"listed":                 selectListed,
		"inbox":                  reads.Inbox,
		"messages":               selectMessages,
		"message":                reads.Message,
		"message of":             selectMessageOf,
		"find message":           reads.FindMessage,
		"tally":                  selectTally,
		"next receiver":          selectNextReceiver,
		"receipt":                reads.Receipt,
		"receipt of":             selectReceiptOf,
		"old receipts":           selectOldReceipts,
		"delete receipts":        deleteReceipts,
		"results":                selectMail,
		"held receipts":          selectHeldReceipts,
		"live run":               selectLiveRun,
		"lock":                   reads.Lock,
		"in section":             reads.InSection,
		"locks":                  selectLocks,
		"locks of namespace":     selectLocksOfNamespace,
		"release messages":       releaseMessages,
		"hold message":           holdMessage,
		"published":              reads.Published,
		"attributes":             selectAttributes,
		"next attributes":        selectNextAttributes,
		"entity":                 reads.Entity,
		"locked entity":          reads.LockedEntity,
		"brief row":              reads.Brief,
		"execution":              reads.Load,
		"where =":                where("="),
		"where > < = <=":         where(">", "<", "=", "<="),
		"where number":           whereQuery(&journal.Filter{Where: []journal.Condition{number}}),
		"entities":               entities(journal.EntityFilter{}),
		"entities of namespace":  entities(journal.EntityFilter{Namespace: "n"}),
		"entities of deployment": entities(journal.EntityFilter{Namespace: "n", Type: "bank/"}),
		"entities of type":       entities(journal.EntityFilter{Namespace: "n", Type: "bank/Account"}),
		"retired holder":         selectRetiredHolder,
		"retired":                selectRetired,
		"used run":               selectUsed,
		"where <":                where("<"),
		"where <=":               where("<="),
		"where >":                where(">"),
		"where >=":               where(">="),
		"mail receivers":         selectMailReceivers,
		"park message":           parkMessage,
		"unpark message":         unparkMessage,
		"parked tally":           selectParkedTally,
		"parked":                 parked(journal.ParkedFilter{}),
		"parked of namespace":    parked(journal.ParkedFilter{Namespace: "n"}),
		"parked of deployment":   parked(journal.ParkedFilter{Namespace: "n", Type: "bank/"}),
		"parked of entity":       reads.ParkedOf,
	}
	// The rows of a range are sorted, and all rows of these indexes fit.
	walked := []string{"where <", "where <=", "where >", "where >=", "retired", "retired holder", "parked of entity"}
	var shown []string
	datadriven.RunTest(t, "testdata/plans", func(t *testing.T, d *datadriven.TestData) string {
		require.Contains(t, slices.Collect(maps.Keys(queries)), d.Input)
		shown = append(shown, d.Input)
		steps := store.plan(t, queries[d.Input])
		if store.preparedAgain(t, queries[d.Input]) > 0 {
			steps += "\nprepared again for other values"
		}
		if !slices.Contains(walked, d.Input) {
			require.NotContains(t, steps, "SCAN", d.Input)
			require.NotContains(t, steps, "TEMP B-TREE", d.Input)
		}
		return steps + "\n"
	})
	require.ElementsMatch(t, slices.Collect(maps.Keys(queries)), shown)
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
	return strings.ReplaceAll(strings.Join(plan, "\n"), "SCAN (subquery", "(subquery") // of the query itself
}

// preparedAgain is how often SQLite prepares a statement again for other values of its parameters. It does so, at many
// times the cost of a look-up, if it has compared one with the condition of a partial index: +?3 is not compared.
func (s *Store) preparedAgain(t *testing.T, query string) int {
	t.Helper()
	require.NoError(t, run(s.writer, "BEGIN", nil, nil))
	defer rollback(s.writer)
	for value := range int64(3) {
		err := run(s.writer, query, func(stmt *sqlite.Stmt) {
			for param := range stmt.BindParamCount() {
				stmt.BindInt64(param+1, value)
			}
		}, nil)
		require.NoError(t, err)
	}
	return statusOf(t, s.writer, query, lib.SQLITE_STMTSTATUS_REPREPARE)
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
