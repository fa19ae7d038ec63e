package host_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host"
	"github.com/cruster/cruster/host/execution"
	"github.com/cruster/cruster/internal/harness"
	"github.com/cruster/cruster/journal"
)

// TestTerminateWhatDoesNotStop ends an execution that was interrupted and goes on waiting all the same.
func TestTerminateWhatDoesNotStop(t *testing.T) {
	t.Parallel()
	harness.EachStore(t, func(t *testing.T, store journal.Store) {
		e := harness.Engine(t, store)
		harness.Push(t, e, "conformance", "tests/guests/conformance")
		execution := harness.Start(t, e, "conformance/InterruptedEarly", nil)
		harness.Pending(t, e, execution, abi.OpDeferred, "gate")
		require.NoError(t, e.Executions().Interrupt(t.Context(), "", execution, "please"))
		row, err := e.Observer().Poll(t.Context(), "", execution)
		require.NoError(t, err)
		require.Equal(t, journal.Running, row.State)

		require.NoError(t, e.Executions().Terminate(t.Context(), "", execution, "enough"))
		requireTerminated(t, e, execution)
		row, err = e.Observer().Poll(t.Context(), "", execution)
		require.NoError(t, err)
		require.Equal(t, "please", row.Interrupt.Reason, "the first request stands")
		require.NoError(
			t, e.Executions().Terminate(t.Context(), "", execution, "enough, again"),
			"the answer to the first may have been lost",
		)
		requireTerminated(t, e, execution)
		require.Equal(
			t, abi.CodeAlreadyOver, abi.CodeOf(e.Executions().Interrupt(t.Context(), "", execution, "please")),
		)
		require.NoError(t, e.Maintenance().Delete(t.Context(), "", execution, ""))
		require.Equal(
			t, abi.CodeExecutionNotFound, abi.CodeOf(e.Executions().Terminate(t.Context(), "", execution, "enough")),
		)
	})
}

func requireTerminated(t *testing.T, e *host.Engine, execution string) {
	t.Helper()
	row := harness.Wait(t, e, execution)
	require.Equal(t, journal.Interrupted, row.State)
	require.Equal(t, abi.CodeTerminated, row.Error.Code)
	require.Equal(t, "enough", row.Error.Message, "the first reason stands")
}

// TestTerminateWhatIsPaused ends a paused execution, whose caller is told; a completed execution
// stays as it is.
func TestTerminateWhatIsPaused(t *testing.T) {
	t.Parallel()
	harness.EachStore(t, func(t *testing.T, store journal.Store) {
		e := harness.Engine(t, store)
		child, parent := pausedChild(t, e)
		require.NoError(t, e.Executions().Terminate(t.Context(), "", child, "enough"))
		requireTerminated(t, e, child)
		over := harness.Wait(t, e, parent)
		require.Equal(t, journal.Failed, over.State, "%v", over.Error)
		require.Contains(t, over.Error.Message, "enough")
		require.Equal(t, abi.CodeAlreadyOver, abi.CodeOf(e.Executions().Terminate(t.Context(), "", parent, "it, too")))
	})
}

// TestTerminateWhatComputes ends an execution whose code is in an endless loop. It does not wait for the time that a
// turn may take, which is longer than a test.
func TestTerminateWhatComputes(t *testing.T) {
	t.Parallel()
	harness.EachStore(t, func(t *testing.T, store journal.Store) {
		e := harness.Engine(t, store, func(c *host.Config) { c.TurnTimeout = time.Hour })
		harness.Push(t, e, "conformance", "tests/guests/conformance")
		endless := harness.Start(t, e, "conformance/Misuse", "loop")
		harness.Pending(t, e, endless, execution.KindTurn, "")
		require.NoError(t, e.Executions().Terminate(t.Context(), "", endless, "enough"))
		requireTerminated(t, e, endless)
	})
}
