package guestsql

import (
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"
)

// TestRename has a namespace with tables of its own run statements. The command is rename; its input is the
// statement, and the output is the statement that SQLite gets. The namespace is "staging" and has orders, items, "odd
// name" and the view totals; it had legacy before namespaces had names of their own. Other namespaces have orders, too.
func TestRename(t *testing.T) {
	t.Parallel()
	datadriven.RunTest(t, "testdata/rename", func(t *testing.T, d *datadriven.TestData) string {
		require.Equal(t, "rename", d.Cmd)
		return sandboxOf("staging").Rename(d.Input).Text + "\n"
	})
}

func sandboxOf(namespace string) *Sandbox {
	owners := map[string]string{"orders": "default", "orders@other": "other", "theirs": "default", "legacy": "staging"}
	for _, name := range []string{"orders", "items", "odd name", "totals"} {
		owners[name+"@staging"] = "staging"
	}
	return &Sandbox{owners: owners, plain: "default", namespace: namespace}
}

func TestRenameInThePlainNamespace(t *testing.T) {
	t.Parallel()
	const sql = "SELECT * FROM orders"
	require.Equal(t, sql, sandboxOf("default").Rename(sql).Text)
}

// The longest statements, of nested, repeated or unclosed parts.
func TestRenameLongStatements(t *testing.T) {
	t.Parallel()
	for name, part := range map[string]string{
		"nested":      "WITH orders AS (SELECT * FROM orders WHERE orders.id IN (",
		"expressions": "WITH a AS (SELECT 1), orders AS (SELECT 2), ",
		"quotes":      `"orders`,
		"comments":    "/*",
		"brackets":    "[orders",
		"open":        "(",
		"closed":      ")",
		"with":        "with ",
		"returning":   "returning orders.id ",
	} {
		sql := strings.Repeat(part, maxSQLBytes/len(part))
		renamed := sandboxOf("staging").Rename(sql).Text
		require.GreaterOrEqual(t, len(renamed), len(sql), name)
		longer := sandboxOf("staging").Rename(sql + sql).Text
		require.True(t, strings.HasSuffix(longer, sql[len(part):]), "%s: SQLite refuses what is longer", name)
	}
}

// A column that is an expression without an alias is called by the text of it.
func TestRenamedColumns(t *testing.T) {
	t.Parallel()
	const a, b = "(SELECT max(orders.id) FROM orders)", "1 IN [items]"
	r := sandboxOf("staging").Rename("SELECT " + a + ", " + b + ", n FROM orders JOIN items")
	const inA, inB = `(SELECT max(orders.id) FROM "orders@staging" AS "orders")`, `1 IN "items@staging"`
	require.Equal(
		t, "SELECT "+inA+", "+inB+`, n FROM "orders@staging" AS "orders" JOIN "items@staging" AS "items"`, r.Text,
	)
	for renamed, want := range map[string]string{
		inA: a, inB: b, "n": "n", "x@y": "x@y", "(" + inA: "(" + inA,
		inA + ", " + inB: a + ", " + b, `"items@staging" AS "items"`: "items",
	} {
		require.Equal(t, want, r.Column(renamed))
	}
	plain := sandboxOf("default").Rename("SELECT 'a@b'")
	require.Equal(t, "'a@b'", plain.Column("'a@b'"))
}

func TestMayBeMade(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		namespace, stored string
		want              bool
	}{
		{"default", "orders", true},
		{"default", "orders@staging", false},
		{"default", "@", false},
		{"staging", "orders@staging", true},
		{"staging", "Orders@STAGING", true},
		{"staging", "orders", false},
		{"staging", "@staging", false},
		{"staging", "orders@default", false},
		{"staging", "orders@other", false},
		{"staging", "orders@other@staging", false},
	} {
		require.Equal(
			t, tc.want, sandboxOf("default").mayBeMade(tc.namespace, tc.stored), "%s in %s", tc.stored, tc.namespace,
		)
	}
}

func TestCalled(t *testing.T) {
	t.Parallel()
	b := sandboxOf("staging")
	require.Equal(
		t, "UNIQUE constraint failed: orders.id, orders.n",
		b.Called("UNIQUE constraint failed: orders@staging.id, orders@staging.n"),
	)
	require.Equal(
		t, "UNIQUE constraint failed: index 'by name'", b.Called("UNIQUE constraint failed: index 'by name@staging'"),
	)
	require.Equal(
		t, `near "'bob@staging'": syntax error`, b.Called(`near "'bob@staging'": syntax error`),
		"the module's own text",
	)
	require.Equal(t, "no such column: reorders@staging", b.Called("no such column: reorders@staging"))
	b.Rename("DROP TABLE gone")
	require.Equal(t, "no such table: gone", b.Called("no such table: gone@staging"))
	require.Equal(t, "no such table: orders", b.Called("no such table: orders@staging"))
	require.Equal(
		t, "orders@staging-2 orders@staging2", b.Called("orders@staging-2 orders@staging2"), "other namespaces",
	)
	require.Equal(t, "orders@staging", sandboxOf("default").Called("orders@staging"))
	long := "no such column: " + strings.Repeat("orders@staging ", maxCalled/15)
	require.Equal(
		t, long, b.Called(long), "a long message is left as it is: to look at each of the names would take too long",
	)
}
