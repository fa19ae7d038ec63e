package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/api/payload"
)

func TestReadInput(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
		return path
	}
	full, empty := file("full", `{"a":1}`), file("empty", " \n")
	for name, tc := range map[string]struct {
		input, inputFile, stdin string
		want, wantErr           string
	}{
		"None":         {"", "", "", "", ""},
		"Text":         {"{}", "", "", "{}", ""},
		"File":         {"", full, "", `{"a":1}`, ""},
		"Stdin":        {"-", "", "[1]", "[1]", ""},
		"StdinAsFile":  {"", "-", "[1]", "[1]", ""},
		"EmptyFile":    {"", empty, "", "", empty + " is empty: it must hold JSON"},
		"EmptyStdin":   {"-", "", "", "", "standard input is empty: it must hold JSON"},
		"MissingFile":  {"", filepath.Join(dir, "none"), "", "", "cannot read the input: "},
		"OversizeText": {"-", "", strings.Repeat("x", payload.MaxJSON+1), "", "standard input has more than "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := newApp(Process{Stdin: strings.NewReader(tc.stdin)}).readInput(tc.input, tc.inputFile)
			if tc.wantErr != "" {
				require.ErrorContains(t, err, tc.wantErr)
				require.Equal(t, exitUsage, exitCode(err))
				return
			}
			require.NoError(t, err)
			require.Equal(t, tc.want, got)
		})
	}
}
