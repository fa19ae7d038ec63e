package cli

import (
	"testing"

	"github.com/stretchr/testify/require"

	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
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

// The offered values are the accepted ones.
func TestFixedWordsAreTaken(t *testing.T) {
	t.Parallel()
	require.Len(t, fixedWords["if-finished"], len(ifFinishedWords))
	for _, word := range fixedWords["if-finished"] {
		_, err := parseIfFinished(word)
		require.NoError(t, err)
	}
	require.Len(t, fixedWords["workflow list state"], len(crusterv1.State_name)-1, "all but the unspecified one")
	for _, word := range fixedWords["workflow list state"] {
		_, err := parseState(word)
		require.NoError(t, err)
	}
}
