package cli

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
)

// docs/cli.md lists every command, every flag of a host and of all commands with its default, and every exit code.
func TestDocumentationIsComplete(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../../../../docs/cli.md")
	require.NoError(t, err)
	page := string(raw)
	root := newApp(Process{}).rootCommand()

	var visit func(cmd *cobra.Command)
	visit = func(cmd *cobra.Command) {
		for _, sub := range cmd.Commands() {
			visit(sub)
		}
		if !cmd.HasSubCommands() {
			require.Contains(
				t, page, "`"+strings.TrimPrefix(cmd.CommandPath(), "cruster-host "), "the command is not listed",
			)
		}
	}
	visit(root)

	listed := func(flag *pflag.Flag) {
		row := regexp.MustCompile("(?m)^\\| `--" + flag.Name + "`.*$").FindString(page)
		require.NotEmpty(t, row, "--%s is not listed", flag.Name)
		if flag.DefValue != "" && flag.DefValue != "[]" {
			require.Contains(t, row, "`"+flag.DefValue+"`", "--%s has another default", flag.Name)
		}
	}
	root.PersistentFlags().VisitAll(listed)
	for _, name := range []string{"dev", "serve"} {
		cmd, _, err := root.Find([]string{name})
		require.NoError(t, err)
		cmd.LocalNonPersistentFlags().VisitAll(listed)
	}

	raw, err = os.ReadFile("../../../../docs/operations.md")
	require.NoError(t, err)
	for _, e := range exits {
		row := fmt.Sprintf("| %d | %s", e.code, e.meaning)
		require.Contains(t, page, row, "the exit code is not listed")
		require.Equal(
			t, e.host, strings.Contains(string(raw), row), "operations.md lists the exit codes of a host: %s", row,
		)
		require.Contains(t, strings.Join(strings.Fields(exitHelp), " "), e.meaning)
	}
}
