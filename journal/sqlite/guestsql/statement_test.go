package guestsql

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
)

// TestStatement looks at texts before SQLite does. Each line of the input is a text as a Go string without its quotes.
// The commands:
//
//	first-word    the first keyword, and whether an activity may begin with it
//	migration     whether a migration may begin with it
//	activity      whether an activity may begin with this text
//	definition    whether a CREATE, ALTER or DROP may have this text
func TestStatement(t *testing.T) {
	t.Parallel()
	datadriven.RunTest(t, "testdata/statement", func(t *testing.T, d *datadriven.TestData) string {
		var out strings.Builder
		for _, line := range strings.Split(d.Input, "\n") {
			sql, err := strconv.Unquote(`"` + line + `"`)
			require.NoError(t, err, line)
			switch d.Cmd {
			case "first-word":
				word := firstWord(sql)
				fmt.Fprintf(&out, "%q %t\n", word, changesOrReadsRows(word))
			case "activity":
				fmt.Fprintln(&out, show("allowed", CheckActivity(sql)))
			case "migration":
				mode, err := CheckMigration(sql)
				fmt.Fprintln(
					&out,
					show(map[Mode]string{Rows: "rows", Definition: "definition", Alteration: "alteration"}[mode], err),
				)
			case "definition":
				fmt.Fprintln(&out, show("allowed", CheckDefinition(sql)))
			}
		}
		return out.String()
	})
}

func show(fine string, err error) string {
	if err != nil {
		return abi.AsError(err).Message
	}
	return fine
}
