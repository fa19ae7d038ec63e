package terminal_test

import (
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/cmd/cruster-host/internal/terminal"
)

// TestTable writes tables and lines. In the input "|" separates cells, "\n" is a line break, and every line of the
// input is a row or a line.
func TestTable(t *testing.T) {
	t.Parallel()
	datadriven.RunTest(t, "testdata/table", func(t *testing.T, d *datadriven.TestData) string {
		var rows [][]string
		for _, line := range strings.Split(d.Input, "\n") {
			rows = append(rows, strings.Split(strings.ReplaceAll(line, `\n`, "\n"), "|"))
		}
		var out strings.Builder
		switch d.Cmd {
		case "table":
			require.NoError(t, terminal.Table(&out, rows[0], rows[1:]))
		case "lines":
			var lines []terminal.Line
			for _, row := range rows {
				lines = append(lines, terminal.Line{Name: row[0], Value: row[1]})
			}
			require.NoError(t, terminal.Lines(&out, lines...))
		default:
			d.Fatalf(t, "unknown command %s", d.Cmd)
		}
		return out.String()
	})
}

// The rows belong to the caller, who may print them as JSON as well.
func TestTableLeavesItsRowsAlone(t *testing.T) {
	t.Parallel()
	row := []string{"a\nb", ""}
	require.NoError(t, terminal.Table(&strings.Builder{}, []string{"A", "B"}, [][]string{row}))
	require.Equal(t, []string{"a\nb", ""}, row)
}
