package guestsql

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"zombiezen.com/go/sqlite"
)

// TestFunctionsAnswerAsSQLite compares the replaced functions with SQLite's, on text that is text:
// invalid UTF-8 has no characters.
func TestFunctionsAnswerAsSQLite(t *testing.T) {
	t.Parallel()
	plain, err := sqlite.OpenConn(":memory:", sqlite.OpenReadWrite)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, plain.Close()) })
	ours, err := sqlite.OpenConn(":memory:", sqlite.OpenReadWrite)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, ours.Close()) })
	require.NoError(t, (&Sandbox{conn: ours}).installFunctions())

	values := []string{
		"NULL", "''", "'a'", "'abcabc'", "'  a b  '", "'äöü äöü'", "'ü'", "'🚀x🚀'", "12", "-1.5", "0",
		"x''", "x'006100'", "x'6162'", "'61 62-63'", "'6'", "'6g'", "' -'", "'4A4b'",
	}
	forms := []string{
		"instr(%s, %s)", "trim(%s, %s)", "ltrim(%s, %s)", "rtrim(%s, %s)", "unhex(%s, %s)",
		"replace(%s, %s, '*')", "replace(%s, %s, '')", "replace('abcabc12', %s, %s)",
	}
	value := func(conn *sqlite.Conn, expr string) string {
		stmt, _, err := conn.PrepareTransient("SELECT quote(" + expr + ") || typeof(" + expr + ")")
		require.NoError(t, err)
		defer func() { require.NoError(t, stmt.Finalize()) }()
		_, err = stmt.Step()
		require.NoError(t, err)
		return stmt.ColumnText(0)
	}
	for _, a := range values {
		for _, b := range values {
			for _, form := range forms {
				expr := fmt.Sprintf(form, a, b)
				require.Equal(t, value(plain, expr), value(ours, expr), expr)
			}
		}
	}
	for _, expr := range []string{
		"typeof(randomblob(3))", "length(randomblob(3))", "length(randomblob(0))",
		"length(randomblob(-5))", "length(randomblob(NULL))", "length(randomblob('7'))",
	} {
		require.Equal(t, value(plain, expr), value(ours, expr), expr)
	}
}
