// Package upgrade_test deploys a new module over executions that run on the old one.
package upgrade_test

import (
	"context"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host"
	"github.com/cruster/cruster/internal/harness"
	"github.com/cruster/cruster/internal/pgtest"
	"github.com/cruster/cruster/journal"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

func push(t *testing.T, e *host.Engine, version string) {
	t.Helper()
	harness.Push(t, e, "report", "tests/guests/upgrade/"+version, func(r *host.PushRequest) {
		r.Config = map[string]string{"setting": "set with " + version}
	})
}

// park starts an execution and waits until it waits for its signal.
func park(t *testing.T, e *host.Engine, input string) string {
	t.Helper()
	execution := harness.Start(t, e, "report/Report", input)
	harness.Pending(t, e, execution, abi.OpDeferred, "signal")
	return execution
}

func finish(t *testing.T, e *host.Engine, execution string) string {
	t.Helper()
	require.NoError(
		t,
		e.Executions().Settle(t.Context(), "", execution, journal.Deferred{
			Name: "signal", Value: harness.Encode(t, true),
		}),
	)
	row := harness.Wait(t, e, execution)
	require.Equal(t, journal.Completed, row.State, "%v", row.Error)
	return harness.Decode[string](t, row.Value)
}

// TestRunningExecutionsKeepTheirModule: code is pinned, settings are not, and neither a restart nor an eviction changes
// that.
func TestRunningExecutionsKeepTheirModule(t *testing.T) {
	t.Parallel()
	harness.EachStore(t, func(t *testing.T, store journal.Store) {
		first := harness.Engine(t, store)
		push(t, first, "one")
		warm, cold := park(t, first, "warm"), park(t, first, "cold")
		push(t, first, "two")
		fresh := park(t, first, "fresh")

		require.Equal(t, "one set with two", finish(t, first, warm))
		require.NoError(t, first.Stop(context.Background()))

		second := harness.Engine(t, store)
		require.Equal(t, "one set with two", finish(t, second, cold))
		require.Equal(t, "two set with two", finish(t, second, fresh))
	})
}

// TestAStartFindsTheExecutionOfAnOlderModule: the identity of an execution is its key, whichever module is deployed.
func TestAStartFindsTheExecutionOfAnOlderModule(t *testing.T) {
	t.Parallel()
	harness.EachStore(t, func(t *testing.T, store journal.Store) {
		e := harness.Engine(t, store)
		push(t, e, "one")
		execution := park(t, e, "same")
		push(t, e, "two")
		row, existed, err := e.Launcher().Start(t.Context(), host.StartRequest{
			Workflow: "report/Report", Input: harness.Encode(t, "same"),
		})
		require.NoError(t, err)
		require.True(t, existed)
		require.Equal(t, execution, row.Name())
		require.Equal(t, "one set with two", finish(t, e, execution))
	})
}
