package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/api/payload"
)

func TestValues(t *testing.T) {
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
		"EmptyText":    {" ", "", "", "", "--input is empty: it must hold JSON"},
		"Both":         {"{}", full, "", "", "--input and --input-file exclude each other"},
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
			var f valueFlags
			cmd := &cobra.Command{}
			f.add(cmd, "input", "the input", notNeeded)
			for name, value := range map[string]string{"input": tc.input, "input-file": tc.inputFile} {
				if value != "" {
					require.NoError(t, cmd.Flags().Set(name, value))
				}
			}
			got, err := newApp(Process{Stdin: strings.NewReader(tc.stdin)}).value(cmd, &f)
			if tc.wantErr != "" {
				require.ErrorContains(t, err, tc.wantErr)
				require.Equal(t, exitUsage, exitCode(err))
				return
			}
			require.NoError(t, err)
			require.Equal(t, tc.want, got.GetJson())
		})
	}
}
