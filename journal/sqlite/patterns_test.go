package sqlite_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
	original "zombiezen.com/go/sqlite"

	"github.com/cruster/cruster/journal/sqlite"
)

// TestPatternsMatchAsSQLiteDoes compares our LIKE and GLOB with SQLite's.
func TestPatternsMatchAsSQLiteDoes(t *testing.T) {
	t.Parallel()
	b := newGuestBundle(t, sqlite.Config{})
	tx := b.begin(t)
	conn, err := original.OpenConn(":memory:")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, conn.Close()) })
	ask := func(query string, args []string) any {
		stmt, _, err := conn.PrepareTransient(query)
		require.NoError(t, err)
		defer func() { require.NoError(t, stmt.Finalize()) }()
		for i, arg := range args {
			stmt.BindText(i+1, arg)
		}
		_, err = stmt.Step()
		require.NoError(t, err)
		return stmt.ColumnInt64(0)
	}
	piece := rapid.SampledFrom([]string{
		"a", "A", "b", "B", "ä", "Ä", "%", "_", "*", "?", "[", "]", "^", "-", "[a-b]", "[^a]", "[]]", "!", "!!", "!%",
		"\x00", "aa", "ab",
	})
	text := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(piece, 0, 8).Draw(t, "pieces"), "")
	})
	rapid.Check(t, func(rt *rapid.T) {
		value, pattern := text.Draw(rt, "value"), text.Draw(rt, "pattern")
		for _, query := range []string{"SELECT $1 LIKE $2", "SELECT $1 LIKE $2 ESCAPE '!'", "SELECT $1 GLOB $2"} {
			_, rows, err := tx.Query(b.ctx, query, []any{value, pattern})
			require.NoError(rt, err)
			require.Equal(rt, ask(query, []string{value, pattern}), rows[0][0], "%s: %q %q", query, value, pattern)
		}
	})
	for _, query := range []string{
		"SELECT NULL LIKE 'a'", "SELECT 'a' LIKE NULL", "SELECT 'a' GLOB NULL", "SELECT 'a' LIKE 'a' ESCAPE NULL",
	} {
		_, rows, err := tx.Query(b.ctx, query, nil)
		require.NoError(t, err, query)
		require.Nil(t, rows[0][0], query)
	}
}
