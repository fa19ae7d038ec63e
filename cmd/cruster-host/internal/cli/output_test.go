package cli

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOutputs(t *testing.T) {
	t.Parallel()
	items := []map[string]string{{"a": "<1>"}, {"a": "2"}}
	for output, want := range map[string]struct{ one, all string }{
		"table": {"text\n", "text\n"},
		"json": {
			"{\n  \"a\": \"<1>\"\n}\n",
			"{\n  \"items\": [\n    {\n      \"a\": \"<1>\"\n    },\n    {\n      \"a\": \"2\"\n    }\n  ]\n}\n",
		},
		"jsonl": {"{\"a\":\"<1>\"}\n", "{\"a\":\"<1>\"}\n{\"a\":\"2\"}\n"},
	} {
		t.Run(output, func(t *testing.T) {
			t.Parallel()
			var out strings.Builder
			a := newApp(Process{Stdout: &out})
			a.output = output
			table := func() error {
				_, err := out.WriteString("text\n")
				return err
			}
			require.NoError(t, a.emit(items[0], table))
			require.Equal(t, want.one, out.String())
			out.Reset()
			require.NoError(t, emitAll(a, items, map[string]any{"items": items}, table))
			require.Equal(t, want.all, out.String())
		})
	}
}

func TestUnknownOutputs(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"version", "-o", "yaml"}, {"version", "-o", "markdown"}} {
		code, _, stderr := invoke(t, args...)
		require.Equal(t, exitUsage, code)
		require.Contains(t, stderr, "choose table, json or jsonl")
	}
}
