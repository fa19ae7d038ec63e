package cli

import (
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
)

func TestFlagBeatsEnvironmentBeatsDefault(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		args []string
		env  []string
		want time.Duration
	}{
		"Default":       {nil, nil, time.Minute},
		"Environment":   {nil, []string{"CRUSTER_IDLE_TIMEOUT=2m"}, 2 * time.Minute},
		"EmptyVariable": {nil, []string{"CRUSTER_IDLE_TIMEOUT="}, time.Minute},
		"Flag":          {[]string{"--idle-timeout", "3m"}, nil, 3 * time.Minute},
		"Both":          {[]string{"--idle-timeout", "3m"}, []string{"CRUSTER_IDLE_TIMEOUT=2m"}, 3 * time.Minute},
		"FlagAtDefault": {[]string{"--idle-timeout", "1m"}, []string{"CRUSTER_IDLE_TIMEOUT=2m"}, time.Minute},
		"FlagOverWrong": {[]string{"--idle-timeout", "3m"}, []string{"CRUSTER_IDLE_TIMEOUT=soon"}, 3 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			flags := pflag.NewFlagSet("", pflag.ContinueOnError)
			got := flags.Duration("idle-timeout", time.Minute, "how long")
			fromEnvironment(flags, "idle-timeout")
			require.Equal(t, "how long [CRUSTER_IDLE_TIMEOUT]", flags.Lookup("idle-timeout").Usage)
			require.NoError(t, flags.Parse(tc.args))
			require.NoError(t, applyEnvironment(flags, environment(tc.env...)))
			require.Equal(t, tc.want, *got)
		})
	}
}

func TestWrongVariablesAreNamed(t *testing.T) {
	t.Parallel()
	code, _, stderr := invokeIn(t, environment("CRUSTER_RETRY_FOR=soon"), "version")
	require.Equal(t, exitUsage, code)
	require.Contains(t, stderr, "error: CRUSTER_RETRY_FOR: ")
}

// The flags of every command take their variables, and a flag wins.
func TestVariablesReachCommands(t *testing.T) {
	t.Parallel()
	env := environment("CRUSTER_OUTPUT=json")
	code, stdout, _ := invokeIn(t, env, "version")
	require.Zero(t, code)
	require.Contains(t, stdout, `"abi": 1`)
	code, stdout, _ = invokeIn(t, env, "version", "-o", "table")
	require.Zero(t, code)
	require.Contains(t, stdout, "\nabi:      1\n")
}
