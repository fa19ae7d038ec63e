package sqlite_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal/sqlite"
)

// nested wraps a query so often; each %s stands for the inner part.
func nested(levels int, inner, around string) string {
	for range levels {
		inner = fmt.Sprintf(around, inner)
	}
	return inner
}

// expressions builds a chain of common table expressions, each made of the one before.
func expressions(levels int, next string) string {
	q := "WITH c0 AS (SELECT balance AS c FROM accounts)"
	for i := range levels {
		q += fmt.Sprintf(", c%d AS (%s)", i+1, strings.ReplaceAll(next, "c?", fmt.Sprintf("c%d", i)))
	}
	return q + fmt.Sprintf(" SELECT c FROM c%d", levels)
}

func columns(n int, column string) string {
	return strings.TrimSuffix(strings.Repeat(column+",", n), ",")
}

// TestStatementsThatExpand: each of these would take minutes to hours, and most of them all memory, in a place where
// SQLite does not look at its clock.
func TestStatementsThatExpand(t *testing.T) {
	t.Parallel()
	const inner = "SELECT balance AS c FROM accounts"
	const megabytes = " FROM (SELECT hex(zeroblob(1000000)) AS a)"
	for name, query := range map[string]string{
		"merged subqueries": nested(30, inner, "SELECT max(c, c) AS c FROM (%s)"),
		"wide subqueries":   nested(8, inner, "SELECT max("+columns(50, "c")+") AS c FROM (%s)"),
		"pushed conditions": "SELECT c FROM (" + nested(30, inner, "SELECT max(c, c) AS c FROM (%s)") +
			") WHERE c > 1",
		"pushed into distinct": "SELECT c FROM (" + nested(30, inner, "SELECT DISTINCT max(c, c) AS c FROM (%s)") +
			") WHERE c > 1",
		"unions": "SELECT c FROM (" +
			nested(30, inner, "SELECT max(c, c) AS c FROM (%s) UNION ALL SELECT 1") + ") WHERE c > 1",
		"subqueries of values": nested(30, inner, "SELECT (SELECT c) + (SELECT c) AS c FROM (%s)"),
		"expressions":          expressions(30, "SELECT max(c, c) AS c FROM c?"),
		"joined expressions":   expressions(30, "SELECT x.c FROM c? x, c? y"),
		"expressions as value": expressions(30, "SELECT (SELECT c FROM c?) + (SELECT c FROM c?) AS c"),
		"views":                "SELECT c FROM v29 WHERE c > 1",
		"joined views":         "SELECT count(*) FROM j9" + strings.Repeat(", j9", 60),
		"straight code":        "SELECT " + columns(200, "max("+columns(100, "a||a")+")") + megabytes,
		"straight patterns":    "SELECT " + columns(30, "a LIKE '%"+strings.Repeat("0", 240)+"1'") + megabytes,
		"straight globs":       "SELECT " + columns(30, "a GLOB '*"+strings.Repeat("0", 240)+"1'") + megabytes,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newGuestBundle(t, sqlite.Config{GuestTxLimit: 2 * time.Second})
			var views strings.Builder
			views.WriteString("CREATE VIEW v0 AS SELECT balance AS c FROM accounts; CREATE VIEW j0 AS SELECT balance " +
				"AS c FROM accounts;")
			for i := range 29 {
				fmt.Fprintf(&views, "CREATE VIEW v%d AS SELECT max(c, c) AS c FROM v%d;", i+1, i)
			}
			for i := range 9 { // with more, a view is refused
				fmt.Fprintf(&views, "CREATE VIEW j%d AS SELECT x.c FROM j%d x, j%d y;", i+1, i, i)
			}
			require.NoError(t, b.deploy("mine", views.String()))
			tx := b.begin(t)
			_, err := tx.Exec(b.ctx, query, nil)
			if err != nil {
				require.Contains(
					t, []abi.Code{abi.CodeSQL, abi.CodeSQLForbidden, abi.CodeTxTooLong}, abi.CodeOf(err), "%v", err,
				)
			}
			require.NoError(t, tx.Rollback(b.ctx))
			b.start(t, "the journal goes on")
		})
	}
}

func TestDefinitionsThatExpand(t *testing.T) {
	t.Parallel()
	b := newGuestBundle(t, sqlite.Config{})
	generated := "CREATE TABLE g (c0"
	for i := range 30 {
		generated += fmt.Sprintf(", c%d AS (max(c%d, c%d))", i+1, i, i)
	}
	for name, sql := range map[string]string{
		"generated columns": generated + ")",
		"a long check": "CREATE TABLE g (a, CHECK (length(" + columns(20, "'"+strings.Repeat("x", 1000)+"'") +
			")))",
		"a long view": "CREATE VIEW g AS SELECT " + columns(200, "max("+columns(100, "a||a")+")") +
			" FROM (SELECT 1 AS a)",
	} {
		err := b.deploy("mine", sql)
		require.Equal(t, abi.CodeMigrationFailed, abi.CodeOf(err), "%s: %v", name, err)
	}
	b.start(t, "the journal goes on")
}

// Ordinary programs go on working.
func TestOrdinaryStatementsAreNotTooComplex(t *testing.T) {
	t.Parallel()
	b := newGuestBundle(t, sqlite.Config{})
	tx := b.begin(t)
	var values []string
	var args []any
	for i := range 5000 {
		values = append(values, fmt.Sprintf("($%d, $%d)", 2*i+1, 2*i+2))
		args = append(args, int64(i+10), fmt.Sprint("owner ", i))
	}
	n, err := tx.Exec(b.ctx, "INSERT INTO accounts (id, owner) VALUES "+strings.Join(values, ", "), args)
	require.NoError(t, err)
	require.EqualValues(t, 5000, n)
	_, rows, err := tx.Query(b.ctx, `SELECT count(*)
		FROM (SELECT id FROM (SELECT id, owner FROM accounts WHERE id > $1) WHERE owner <> $2) AS x JOIN accounts
			USING (id)`, []any{int64(9), "ada"})
	require.NoError(t, err)
	require.Equal(t, [][]any{{int64(5000)}}, rows)
	_, err = tx.Exec(b.ctx, "UPDATE accounts SET owner = $1 WHERE id = 1", []any{strings.Repeat("x", abi.MaxBody)})
	require.NoError(t, err)
}
