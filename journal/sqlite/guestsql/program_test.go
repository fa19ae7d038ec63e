package guestsql

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"
	"zombiezen.com/go/sqlite"
)

// TestProgram tells the costs of statements and how long their values may be. The commands:
//
//	define       runs SQL as it is
//	cost         the cost of each line for a byte, and how long its values may be
//	repeat n=N   the same of a SELECT that has each line as N columns
func TestProgram(t *testing.T) {
	t.Parallel()
	conn, err := sqlite.OpenConn(":memory:", sqlite.OpenReadWrite)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, conn.Close()) })
	b, err := Install(conn, map[string]string{"t": "mine", "u": "mine"}, "mine")
	require.NoError(t, err)
	datadriven.RunTest(t, "testdata/program", func(t *testing.T, d *datadriven.TestData) string {
		var out strings.Builder
		for _, line := range strings.Split(d.Input, "\n") {
			switch d.Cmd {
			case "define":
				stmt, _, err := conn.PrepareTransient(line)
				require.NoError(t, err)
				_, err = stmt.Step()
				require.NoError(t, err)
				require.NoError(t, stmt.Finalize())
				continue
			case "repeat":
				n := 0
				d.ScanArgs(t, "n", &n)
				line = "SELECT " + strings.TrimSuffix(strings.Repeat(line+", ", n), ", ") + " FROM t"
			}
			leave := b.Enter(Rows, "mine", nil)
			total, err := b.programCost(line)
			require.NoError(t, err, line)
			require.NoError(t, b.Bound(line))
			longest, _ := b.Longest()
			leave()
			require.LessOrEqual(t, int64(total)*int64(longest), maxWork)
			fmt.Fprintf(&out, "%d: %d bytes\n", total, longest)
		}
		return out.String()
	})
}

// Emptying a table at once cannot be interrupted, and takes as long as the table is large.
func TestDeleteGoesRowByRow(t *testing.T) {
	t.Parallel()
	conn, err := sqlite.OpenConn(":memory:", sqlite.OpenReadWrite)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, conn.Close()) })
	stmt, _, err := conn.PrepareTransient("CREATE TABLE t (a)")
	require.NoError(t, err)
	_, err = stmt.Step()
	require.NoError(t, err)
	require.NoError(t, stmt.Finalize())
	b, err := Install(conn, map[string]string{"t": "mine"}, "mine")
	require.NoError(t, err)
	defer b.Enter(Rows, "mine", nil)()
	var opcodes []string
	stmt, _, err = conn.PrepareTransient("EXPLAIN DELETE FROM t")
	require.NoError(t, err)
	defer func() { require.NoError(t, stmt.Finalize()) }()
	for {
		more, err := stmt.Step()
		require.NoError(t, err)
		if !more {
			break
		}
		opcodes = append(opcodes, stmt.ColumnText(1))
	}
	require.NotContains(t, opcodes, "Clear")
	require.Contains(t, opcodes, "Next")
}
