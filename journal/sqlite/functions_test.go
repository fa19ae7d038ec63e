package sqlite_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal/sqlite"
)

// zigzag is a polygon of so many points. Whether two of them overlap takes time in proportion to the square of their
// number, and more.
func zigzag(points int) string {
	var text strings.Builder
	text.WriteString("[[0,0]")
	for i := range points {
		fmt.Fprintf(&text, ",[%d,%d]", i, i%2*1000+1)
	}
	text.WriteString(",[0,0]]")
	return text.String()
}

// Functions that could hold the writer for minutes, or that are no business of a module, are refused when the statement
// is compiled.
func TestRefusedFunctions(t *testing.T) {
	t.Parallel()
	b := newGuestBundle(t, sqlite.Config{})
	for _, query := range []string{
		"SELECT geopoly_overlap($1, $1)",
		"SELECT GEOPOLY_within($1, $1)",
		"SELECT id FROM accounts WHERE geopoly_area($1) > 0",
		"UPDATE accounts SET owner = geopoly_json($1)",
		"SELECT json_pretty($1)",
		"SELECT json_patch($1, $1)",
		"SELECT jsonb_patch($1, $1)",
		"SELECT load_extension($1)",
		"SELECT sqlite_log(1, $1)",
		"SELECT total_changes(), $1",
		"SELECT fts5($1)",
		"SELECT bm25($1)",
		"SELECT rtreecheck($1)",
		"SELECT id FROM accounts WHERE owner MATCH $1",
	} {
		tx := b.begin(t)
		_, _, err := tx.Query(b.ctx, query, []any{zigzag(60_000)})
		require.Equal(t, abi.CodeSQLForbidden, abi.CodeOf(err), "%s: %v", query, err)
		require.Contains(t, abi.AsError(err).Hint, "compute in the module's code", query)
		_, err = tx.Exec(b.ctx, "SELECT upper('a')", nil)
		require.NoError(t, err, "the transaction goes on")
		require.NoError(t, tx.Rollback(b.ctx))
	}
	for _, sql := range []string{
		"CREATE TABLE g (a, b AS (geopoly_area(a)))",
		"CREATE TABLE g (a CHECK (json_pretty(a) <> ''))",
		"CREATE INDEX g ON accounts (json_patch(owner, owner))",
		"CREATE TABLE g AS SELECT geopoly_overlap(owner, owner) FROM accounts",
		"CREATE VIEW g AS SELECT geopoly_area(owner) AS area FROM accounts",
	} {
		require.Equal(t, abi.CodeMigrationFailed, abi.CodeOf(b.deploy("mine", sql)), sql)
	}
}

// worstTexts are the slowest inputs of functions, of n bytes, and worstJSON the slowest inputs of JSON functions.
func worstTexts(n int) []any {
	repeat := func(s string) string { return strings.Repeat(s, n/len(s)) }
	return []any{repeat("7"), repeat("\x01"), repeat("%J"), repeat("% .9f")}
}

func worstJSON(n int) []any {
	deep := strings.Repeat("[", 900) + strings.Repeat("1,", n/200) + "1" + strings.Repeat("]", 900)
	return []any{
		"[" + strings.Repeat("[],", n/3-2) + "1]", "[" + strings.Repeat(deep+",", n/len(deep)-1) + "1]",
		`{` + strings.Repeat(`"a":1,`, n/6-2) + `"b":1}`, bytes.Repeat([]byte("\xeb\x00\x10\x00\x00"), n/5),
	}
}

// worstCalls are calls of every allowed function that looks at values, with as many of them as it takes.
var worstCalls = []string{
	"abs($1)", "char($1)", "concat($1, $1, $1)", "concat_ws($1, $1, $1)", "date($1, $1)", "format($1, $1, $1)",
	"format('%q%Q%w', $1, $1, $1)",
	"glob('*' || substr($1, 1, 200) || 'x', $1)", "group_concat($1)", "hex($1)", "instr($1, $1 || 'x')", "json($1)",
	"json_array($1, $1)",
	"json_array_insert($1, '$[0]', 1)", "json_array_length($1)", "json_error_position($1)",
	"json_extract($1, '$[#-1]', '$.b', '$[0]')", "json_group_array($1)",
	"json_group_object($1, $1)", "json_insert($1, '$[#]', 1, '$.c', 2)", "json_object('a', $1)", "json_quote($1)",
	"json_remove($1, '$[0]', '$.b')",
	"json_replace($1, '$[0]', $1)", "json_set($1, '$[0]', 1, '$[#-1]', 2)", "json_type($1)", "json_valid($1)",
	"json_valid($1, 8)", "jsonb($1)", "length($1)",
	"like('%' || substr($1, 1, 200) || 'x', $1)", "lower($1)", "max($1, $1 || '')", "nullif($1, $1 || '')",
	"printf('%s%s', $1, $1)", "quote($1)",
	"replace($1, '7', '')", "round($1)", "soundex($1)", "strftime($1, 1)", "substr($1, -3)", "sum($1)",
	"timediff($1, $1)", "trim($1)", "trim($1, $1)",
	"unhex($1)", "unhex($1, $1)", "unicode($1)", "unistr($1)", "unistr_quote($1)", "unixepoch($1)", "upper($1)",
	"$1 -> '$[#-1]'", "$1 ->> '$.b'",
	"(SELECT count(*) FROM json_each($1))", "(SELECT max(fullkey) FROM (SELECT fullkey FROM json_tree($1) LIMIT 1000))",
}

// TestFunctionsAtTheirWorst calls the allowed functions on the longest values that are slowest for
// them, and has the journal preempt the transaction as soon as it has begun. A function that is not
// bounded holds the writer, and the journal never goes on.
func TestFunctionsAtTheirWorst(t *testing.T) {
	t.Parallel()
	b := newGuestBundle(t, sqlite.Config{GuestTxGrace: time.Nanosecond})
	texts, json := worstTexts(abi.MaxBody), worstJSON(abi.MaxBody)
	for _, call := range worstCalls {
		args := texts
		if strings.Contains(call, "json") || strings.Contains(call, "->") {
			args = json
		}
		for _, arg := range args {
			err := b.preempted(t, "SELECT length("+call+")", arg)
			require.Contains(t, []abi.Code{"", abi.CodeSQL}, abi.CodeOf(err), "%s: %v", call, err)
		}
	}
}

// The same with as many calls in a row as a statement has room for, on the longest values that are allowed with so
// many.
func TestStraightCodeAtItsWorst(t *testing.T) {
	t.Parallel()
	b := newGuestBundle(t, sqlite.Config{GuestTxGrace: time.Nanosecond})
	for _, call := range []string{
		"json_valid($1)", "json_extract($1, '$[#-1]')", "format($1)", "upper($1)", "$1 || ''", "max($1, $1 || '')",
	} {
		for n, refused := abi.MaxBody, true; refused; n /= 2 {
			err := b.preempted(t, "SELECT "+columns(250, "length("+call+")"), "["+strings.Repeat("[],", n/3-2)+"1]")
			refused = err != nil && strings.Contains(err.Error(), "too big")
			require.Contains(t, []abi.Code{"", abi.CodeSQL}, abi.CodeOf(err), "%s: %v", call, err)
		}
	}
}

// preempted runs a query while the journal waits for the writer.
func (b *guestBundle) preempted(t *testing.T, query string, args ...any) error {
	tx := b.begin(t)
	answer := make(chan error, 1)
	go func() { answer <- b.startAgain("again") }()
	_, _, err := tx.Query(b.ctx, query, args)
	require.NoError(t, <-answer, "the journal goes on")
	require.NoError(t, tx.Rollback(b.ctx))
	return err
}

// Straight code, in which SQLite does not look whether it is interrupted, works on short values only, whatever hides
// it.
func TestStraightCodeIsBounded(t *testing.T) {
	t.Parallel()
	b := newGuestBundle(t, sqlite.Config{})
	columnsOf := func(call string) string {
		var text strings.Builder
		for i := range 100 {
			fmt.Fprintf(&text, ", g%d AS (%s)", i, call)
		}
		return text.String()
	}
	require.NoError(
		t, b.deploy("mine", "CREATE TABLE straight (id INTEGER PRIMARY KEY, a TEXT"+columnsOf("json_valid(a)")+")"),
	)
	tx := b.begin(t)
	json := "[" + strings.Repeat("1,", 1<<20) + "1]"
	for _, query := range []string{
		"SELECT " + columns(100, "json_valid($1)"),
		"INSERT INTO straight (id, a) VALUES (1, $1)",
		"SELECT * FROM straight WHERE a = $1",
		"SELECT 1 FROM accounts WHERE " + strings.TrimSuffix(strings.Repeat("json_valid($1) AND ", 100), "AND "),
		"UPDATE accounts SET owner = coalesce(" + columns(50, "json_extract($1, '$.x')") + ")",
	} {
		_, _, err := tx.Query(b.ctx, query, []any{json})
		require.Equal(t, abi.CodeSQL, abi.CodeOf(err), "%s: %v", query[:30], err)
		require.ErrorContains(t, err, "too big", query[:30])
		require.Contains(t, abi.AsError(err).Hint, "fewer functions")
	}
	_, rows, err := tx.Query(b.ctx, "SELECT "+columns(100, "json_valid($1)"), []any{json[:20_000] + "1]"})
	require.NoError(t, err)
	require.Equal(t, int64(1), rows[0][99])
}
