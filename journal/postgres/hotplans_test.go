package postgres

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/journal/sqlsweep"
)

// hotQueries are the statements that run all the time, besides the ones prepared under a name.
func (st *statements) hotQueries() map[string]string {
	holders := st.holders()
	return map[string]string{
		"lock family":        st.lockFamily(),
		"due":                st.dueExecutions(),
		"due schedules":      st.dueSchedules(),
		"entries page":       st.entriesQuery(),
		"find message":       st.reads.FindMessage,
		"inbox":              st.reads.Inbox,
		"locked entity":      st.reads.LockedEntity,
		"mail receivers":     st.mailReceiversQuery(),
		"messages":           st.messagesQuery(),
		"purge":              st.selectRetired(),
		"purge mail":         st.selectMail(),
		"over holders":       holders[0].find(),
		"retired holders":    holders[1].find(),
		"purge entries":      st.deleteRows(sqlsweep.EntriesOf(journal.RunKey{})),
		"purge inbox":        st.deleteRows(sqlsweep.InboxOf(journal.Receiver{})),
		"receipts by origin": st.receiptsQuery(),
		"receivers":          st.receiversQuery(),
		"sweep":              st.selectExpired(),
		"sweep receipts":     st.selectOldReceipts(),
		"delete receipts":    st.deleteReceipts(),
	}
}

// hotStatements are the statements of nearly every commit.
var hotStatements = []string{
	stmtAttributes, stmtAttributesGone, stmtContinue, stmtEntities, stmtEntries, stmtFresh, stmtHibernate, stmtHoldMail,
	stmtLinks,
	stmtLinksLenient, stmtLockRows, stmtMailLenient, stmtPark, stmtPresent, stmtPublish, stmtReceipts, stmtRoom,
	stmtStartsLenient, stmtSupersede, stmtTakes, stmtUnanswered, stmtUnpark, stmtUpdates, stmtArrivals,
}

// TestHotPlans shows how the server goes about the statements that run all the time: nodes, indexes and conditions. The
// plans are for any arguments, as the connections of the store ask for. A table that is named without an
// index is walked through.
func TestHotPlans(t *testing.T) {
	t.Parallel()
	store, _ := openInside(t)
	store.fill(t)
	conn, err := store.writes.Acquire(t.Context())
	require.NoError(t, err)
	defer conn.Release()
	queries := store.sql.hotQueries()
	for _, name := range hotStatements {
		queries[strings.TrimPrefix(name, "cruster_")] = store.sql.prepared[name]
	}
	var shown []string
	datadriven.RunTest(t, "testdata/hotplans", func(t *testing.T, d *datadriven.TestData) string {
		require.Contains(t, slices.Collect(maps.Keys(queries)), d.Input)
		shown = append(shown, d.Input)
		return explainGeneric(t, conn.Conn(), "hot "+d.Input, queries[d.Input])
	})
	require.ElementsMatch(t, slices.Collect(maps.Keys(queries)), shown)
}

// TestPlansOfANewStore shows that statements look rows up by an index before the server knows anything about the
// tables. It makes each plan once, and a connection of a new store keeps its plans until the tables are analysed.
func TestPlansOfANewStore(t *testing.T) {
	t.Parallel()
	store, _ := openInside(t)
	conn, err := store.writes.Acquire(t.Context())
	require.NoError(t, err)
	defer conn.Release()
	var walks []string
	for name, statement := range store.sql.prepared {
		if !strings.Contains(statement, "unnest") {
			continue // it is about no rows, or about one
		}
		plan := planOf(t, conn.Conn(), "new "+name, statement)
		for _, node := range plan.scans() {
			if node.Index == "inbox_held" {
				continue // it has the messages that were delivered and not answered, which are few
			}
			columns := strings.Count(node.Condition, " = ")
			if !strings.Contains(node.Condition, "shard") || columns < 2 && node.Table != "shards" {
				walks = append(walks, fmt.Sprintf("%s: %s %s by %q", name, node.Table, node.Index, node.Condition))
			}
		}
	}
	require.Empty(t, walks)
}

// fill puts a few thousand rows into each table, and has the server count them. ANALYZE takes samples of larger tables
// only, and nothing vacuums the tables meanwhile, so that the plans are the same each time.
func (s *Store) fill(t *testing.T) {
	t.Helper()
	const rows = 20_000
	id := func(n string) string { return `decode(md5((` + n + `)::text), 'hex')` }
	shard := shardOf(id("i"))
	for table, columns := range map[string][2]string{
		s.sql.executions: {
			`shard, id, superseded, namespace, workflow, key, digest, state, wake_at, created_at, finished_at, run, waiting, pinned, moved_at,
				held_by, holds, parent, parent_run, parent_step`,
			shard + `, ` + id("i") +
				`, CASE WHEN i % 20 = 0 THEN 1 ELSE 0 END, 'default', 'orders/Process', i::text, 'sha256:01',
				CASE WHEN i % 4 = 0 THEN 'running' ELSE 'completed' END, i, i, CASE WHEN i % 4 = 0 THEN 0
					ELSE i END, ` + id("-i") + `, '', '', 0,
				CASE WHEN i % 10 = 1 THEN ` + id("i - 1") + ` END, i % 100 = 3, ` + id("i / 2") + `, ` +
				id("- i / 2") + `, ` + id("i") + ``,
		},
		s.sql.entries: {
			`shard, run, seq, last, body`, shardOf(id("i / 100")) + `, ` + id("-(i / 100)") + `, i, i, ''`,
		},
		s.sql.links: {
			`shard, run, step, callee, callee_run`,
			shard + `, ` + id("-i") + `, ` + id("i") + `, ` + id("i + 1") + `, ` + id("-(i + 1)"),
		},
		s.sql.hibernated: {`shard, run, seq, body`, shard + `, ` + id("-i") + `, i, ''`},
		s.sql.retired: {
			`shard, run, id, holds`, shard + `, ` + id("-i - 100000") + `, ` + id("i") + `, i % 100 = 0`,
		},
		s.sql.inbox: {
			`shard, id, chain, origin, kind, name, at, repeatable, held, bytes, parked`,
			shardOf(id("i / 100")) + `, ` + id("i / 100") + `, CASE WHEN i % 200 < 100 THEN ''::bytea ELSE ` +
				id("-(i / 100)") + ` END,
				` + id("i") + `, CASE WHEN i % 200 > 180 THEN 'result' ELSE 'signal' END, 'n', i, false, i % 50 = 0, 0,
				CASE WHEN i % 200 = 7 THEN ''::bytea END`,
		},
		s.sql.receipts: {
			`shard, id, origin, at, sender, sender_run, held`,
			shardOf(id("i / 100")) + `, ` + id("i / 100") + `, ` + id("i") + `, i, ` + id("i") + `, ` + id("-i") +
				`, i % 50 = 0`,
		},
		s.sql.attributes: {
			`shard, id, name, type, text, number, namespace, created_at`,
			shard + `, ` + id("i") + `, 'a', 'text', 'x', 0, 'default', i`,
		},
	} {
		for _, query := range []string{
			`ALTER TABLE ` + table + ` SET (autovacuum_enabled = false)`,
			fmt.Sprintf(
				`INSERT INTO %s (%s) SELECT %s FROM generate_series(1, %d) AS i`, table, columns[0], columns[1], rows,
			),
			`ANALYZE ` + table,
		} {
			_, err := s.main.Exec(t.Context(), query)
			require.NoError(t, err, query)
		}
	}
}

// planNode is a node of a plan, as far as it is shown.
type planNode struct {
	NodeType  string     `json:"Node Type"`
	Operation string     `json:"Operation"`
	Subplan   string     `json:"Subplan Name"`
	Table     string     `json:"Relation Name"`
	Index     string     `json:"Index Name"`
	Direction string     `json:"Scan Direction"`
	Condition string     `json:"Index Cond"`
	Filter    string     `json:"Filter"`
	Join      string     `json:"Join Filter"`
	SortKey   []string   `json:"Sort Key"`
	Plans     []planNode `json:"Plans"`
}

// explainGeneric explains a statement for any arguments.
func explainGeneric(t *testing.T, conn *pgx.Conn, name, query string) string {
	var out strings.Builder
	plan := planOf(t, conn, name, query)
	plan.show(&out, "")
	return out.String()
}

// planOf is the plan of a statement for any arguments.
func planOf(t *testing.T, conn *pgx.Conn, name, query string) planNode {
	t.Helper()
	statement, err := conn.Prepare(t.Context(), name, query)
	require.NoError(t, err)
	arguments := strings.TrimSuffix(strings.Repeat("NULL, ", len(statement.ParamOIDs)), ", ")
	var text []byte
	require.NoError(
		t,
		conn.QueryRow(t.Context(), `EXPLAIN (FORMAT JSON, COSTS OFF) EXECUTE `+quote(name)+` (`+arguments+`)`).Scan(
			&text,
		),
	)
	var plans []struct{ Plan planNode }
	require.NoError(t, json.Unmarshal(text, &plans))
	return plans[0].Plan
}

// scans are the nodes that read a table or an index.
func (n *planNode) scans() (all []*planNode) {
	if strings.HasSuffix(n.NodeType, "Scan") && n.NodeType != "Bitmap Heap Scan" && (n.Table != "" || n.Index != "") {
		all = append(all, n)
	}
	for i := range n.Plans {
		all = append(all, n.Plans[i].scans()...)
	}
	return all
}

// arguments are the parameters of a statement, and the values that its parts hand to each other;
// servers name the latter in several ways.
var arguments = regexp.MustCompile(`\$\d+|\(InitPlan \d+\)\.col\d+`)

func (n *planNode) show(out *strings.Builder, indent string) {
	line := strings.TrimSpace(n.Operation + " " + n.NodeType)
	for _, part := range []string{n.Table, n.Index} {
		if part != "" {
			line += " " + part
		}
	}
	if n.Direction == "Backward" {
		line += " backward"
	}
	if n.Subplan != "" {
		name, _, _ := strings.Cut(n.Subplan, " (returns")
		line = name + ": " + line
	}
	fmt.Fprintf(out, "%s%s\n", indent, line)
	for _, condition := range [][2]string{
		{"by", n.Condition}, {"filter", n.Filter}, {"join", n.Join}, {"sort", strings.Join(n.SortKey, ", ")},
	} {
		if condition[1] != "" {
			fmt.Fprintf(out, "%s  %s %s\n", indent, condition[0], arguments.ReplaceAllString(condition[1], "?"))
		}
	}
	for i := range n.Plans {
		n.Plans[i].show(out, indent+"  ")
	}
}
