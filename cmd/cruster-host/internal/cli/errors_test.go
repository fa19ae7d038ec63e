package cli

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
)

func TestErrorsPageIsUpToDate(t *testing.T) {
	t.Parallel()

	code, page, _ := invoke(t, "errors", "-o", "markdown")
	require.Zero(t, code)
	for _, c := range abi.Codes {
		require.Contains(t, page, "| "+string(c.Code)+" |")
	}
	committed, err := os.ReadFile("../../../../docs/errors.md")
	require.NoError(t, err)
	require.Equal(t, page, string(committed), "run: go run ./cmd/cruster-host errors -o markdown > docs/errors.md")
}

func TestErrorsAsJSONLines(t *testing.T) {
	t.Parallel()

	code, out, _ := invoke(t, "errors", "-o", "jsonl")
	require.Zero(t, code)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	require.Len(t, lines, len(abi.Codes))
	for _, l := range lines {
		require.True(t, json.Valid([]byte(l)))
	}
}

// A code is known by its number, too.
func TestErrorsOfOneCode(t *testing.T) {
	t.Parallel()

	_, want, _ := invoke(t, "errors", "CR-4012")
	require.Contains(t, want, "CR-4012")
	for _, name := range []string{"cr-4012", "4012"} {
		code, out, _ := invoke(t, "errors", name)
		require.Zero(t, code, name)
		require.Equal(t, want, out, name)
	}
	code, _, problem := invoke(t, "errors", "401")
	require.Equal(t, exitUsage, code)
	require.Contains(t, problem, `there is no code "401"`)
}
