package cli

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFailuresAsJSON(t *testing.T) {
	t.Parallel()
	runCommands(t, "testdata/failure")
}

// The environment asks for JSON also if the mistake is found before it is read.
func TestFailuresAsJSONByTheEnvironment(t *testing.T) {
	t.Parallel()
	for want, args := range map[string][]string{
		"FILE is missing\nusage: cruster-host module push FILE [flags]": {"module", "push"},
		"unknown flag: --colour": {"module", "list", "--colour"},
	} {
		code, stdout, stderr := invokeIn(t, environment("CRUSTER_OUTPUT=json"), args...)
		require.Equal(t, exitUsage, code)
		require.Empty(t, stdout)
		var got struct {
			Error struct{ Category, Message string }
		}
		require.NoError(t, json.Unmarshal([]byte(stderr), &got))
		require.Equal(t, "USAGE", got.Error.Category)
		require.Equal(t, want, got.Error.Message)
	}
}
