package host_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host"
	"github.com/cruster/cruster/internal/harness"
	"github.com/cruster/cruster/journal"
)

// A wait that is over ends nothing else: the execution is there and runs, and can be waited for again, also if another
// run has taken its name.
func TestWaitsThatAreOver(t *testing.T) {
	t.Parallel()
	harness.EachStore(t, func(t *testing.T, store journal.Store) {
		e := harness.Engine(t, store)
		harness.Push(t, e, "followed", "tests/guests/followed")
		start := host.StartRequest{
			Workflow: "followed/Later", Input: abi.MustMarshal(1), Key: "k", KeyMode: abi.KeyRaw,
		}
		row, existed, err := e.Launcher().Execute(t.Context(), start, time.Nanosecond)
		require.NoError(t, err)
		require.False(t, existed)
		require.Equal(t, journal.Running, row.State)
		again, existed, err := e.Launcher().Execute(t.Context(), start, time.Nanosecond)
		require.NoError(t, err)
		require.True(t, existed)
		require.Equal(t, row.Run, again.Run)
		for _, run := range []string{"", row.Run.String(), row.Chain.String()} {
			waited, err := e.Observer().WaitRun(t.Context(), "", row.Name(), run, time.Nanosecond)
			require.NoError(t, err)
			require.Equal(t, journal.Running, waited.State)
		}

		require.NoError(t, e.Executions().Terminate(t.Context(), "", row.Name(), "enough"))
		start.IfFinished = abi.RestartFinished
		second, _, err := e.Launcher().Execute(t.Context(), start, time.Nanosecond)
		require.NoError(t, err)
		require.NotEqual(t, row.Run, second.Run)
		ended, err := e.Observer().WaitRun(t.Context(), "", row.Name(), row.Chain.String(), time.Hour)
		require.NoError(t, err)
		require.Equal(t, journal.Interrupted, ended.State, "the wait is for the run that it names")

		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err = e.Observer().WaitRun(ctx, "", row.Name(), "", time.Hour)
		require.ErrorContains(t, err, "context canceled")
	})
}
