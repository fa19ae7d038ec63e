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

// TestScan reads tokens. Each line of the input is a text as a Go string without its quotes.
func TestScan(t *testing.T) {
	t.Parallel()
	kinds := map[kind]string{word: "word", quoted: "quoted", text: "text", number: "number", symbol: "symbol"}
	datadriven.RunTest(t, "testdata/tokens", func(t *testing.T, d *datadriven.TestData) string {
		var out strings.Builder
		for _, line := range strings.Split(d.Input, "\n") {
			sql, err := strconv.Unquote(`"` + strings.ReplaceAll(line, `"`, `\"`) + `"`)
			require.NoError(t, err, line)
			tokens, err := scan(sql)
			if err != nil {
				fmt.Fprintf(&out, "refused: %s\n", abi.AsError(err).Message)
				continue
			}
			var parts []string
			end := 0
			for _, token := range tokens {
				require.True(
					t, end <= token.start && token.start < token.end && token.end <= len(sql), "%q: %+v", sql, token,
				)
				end = token.end
				parts = append(parts, fmt.Sprintf("%s(%q)", kinds[token.kind], sql[token.start:token.end]))
			}
			fmt.Fprintln(&out, strings.Join(parts, " "))
		}
		return out.String()
	})
}
