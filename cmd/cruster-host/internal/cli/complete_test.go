package cli

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCompletion(t *testing.T) {
	t.Parallel()
	runCommands(t, "testdata/complete")
}

// Without a host there is nothing to offer, and nothing to complain about.
func TestCompletionWithoutAHost(t *testing.T) {
	t.Parallel()
	for _, env := range []string{"CRUSTER_ADDR=127.0.0.1:1", "CRUSTER_ADDR=nonsense"} {
		code, stdout, stderr := invokeIn(t, environment(env), "__completeNoDesc", "workflow", "wait", "")
		require.Zero(t, code, env)
		require.Equal(t, ":4\n", stdout, env)
		require.Equal(t, "Completion ended with directive: ShellCompDirectiveNoFileComp\n", stderr, env)
	}
}
