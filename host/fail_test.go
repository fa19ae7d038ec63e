package host_test

import (
	"context"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/abi/hash"
	"github.com/cruster/cruster/host"
	"github.com/cruster/cruster/host/faultpoint"
	"github.com/cruster/cruster/internal/harness"
	"github.com/cruster/cruster/internal/undertest"
	"github.com/cruster/cruster/journal"
)

// pausedChild starts a workflow that waits for another, which is paused.
func pausedChild(t *testing.T, e *host.Engine) (child, parent string) {
	t.Helper()
	harness.Push(t, e, "conformance", "tests/guests/conformance")
	key, err := hash.Of(harness.Encode(t, "panic"))
	require.NoError(t, err)
	child, parent = "conformance/Misuse/"+key, harness.Start(t, e, "conformance/CallMisuse", "panic")
	harness.Eventually(t, "the child is paused", func() bool {
		row, err := e.Observer().Poll(t.Context(), "", child)
		return err == nil && row.State == journal.Paused
	})
	return child, parent
}

// requireFailedParent checks that a parent was told of its child's failure.
func requireFailedParent(t *testing.T, e *host.Engine, parent string) {
	t.Helper()
	over := harness.Wait(t, e, parent)
	require.Equal(t, journal.Failed, over.State, "%v", over.Error)
	require.Contains(t, over.Error.Message, "given up")
	entries, _, err := e.Observer().History(t.Context(), "", parent, 0, 100)
	require.NoError(t, err)
	var told []abi.Code
	for _, en := range entries {
		if en.Op.Kind == abi.OpCall {
			told = append(told, abi.CodeOf(en.Error))
		}
	}
	require.Equal(t, []abi.Code{abi.CodeFailedByOperator}, told)
}

// TestFailTellsWhoWaits fails a paused execution. The workflow that called it and the client that waits for that
// workflow are told.
func TestFailTellsWhoWaits(t *testing.T) {
	t.Parallel()
	harness.EachStore(t, func(t *testing.T, store journal.Store) {
		e := harness.Engine(t, store)
		child, parent := pausedChild(t, e)
		waited := make(chan *journal.Execution, 1)
		go func() {
			row, _ := e.Observer().Wait(t.Context(), "", parent)
			waited <- row
		}()

		require.NoError(t, e.Executions().Fail(t.Context(), "", child, "given up"))
		row, err := e.Observer().Poll(t.Context(), "", child)
		require.NoError(t, err)
		require.Equal(t, journal.Failed, row.State)
		require.Equal(t, abi.CodeFailedByOperator, row.Error.Code)
		require.Contains(t, row.Error.Message, "given up")
		require.Contains(t, row.Error.Message, string(abi.CodeCrashLoop))
		require.NotZero(t, row.FinishedAt)
		require.Equal(t, row.Error, harness.Wait(t, e, child).Error, "who comes later is told the same")

		requireFailedParent(t, e, parent)
		heard := <-waited
		require.NotNil(t, heard)
		require.Equal(t, journal.Failed, heard.State)

		for name, again := range map[string]error{
			"fail":   e.Executions().Fail(t.Context(), "", child, "once more"),
			"resume": e.Executions().Resume(t.Context(), "", child),
		} {
			require.Equal(t, abi.CodeNotPaused, abi.CodeOf(again), name)
		}
		after, err := e.Observer().Poll(t.Context(), "", child)
		require.NoError(t, err)
		require.Equal(t, row, after, "the first failure stands")
	})
}

// TestFailKeepsTheJournal fails an execution that crashes again and again. Its history stays
// readable, and starting it again finds it.
func TestFailKeepsTheJournal(t *testing.T) {
	t.Parallel()
	harness.EachStore(t, func(t *testing.T, store journal.Store) {
		e := harness.Engine(t, store)
		harness.Push(t, e, "conformance", "tests/guests/conformance")
		execution := harness.Start(t, e, "conformance/Misuse", "panic")
		require.Equal(t, journal.Paused, harness.Wait(t, e, execution).State)
		before, _, err := e.Observer().History(t.Context(), "", execution, 0, 100)
		require.NoError(t, err)
		require.NotEmpty(t, before)

		require.NoError(t, e.Executions().Fail(t.Context(), "", execution, "it will never work"))
		after, _, err := e.Observer().History(t.Context(), "", execution, 0, 100)
		require.NoError(t, err)
		require.Equal(t, before, after)
		require.Equal(t, execution, harness.Start(t, e, "conformance/Misuse", "panic"))
		found := harness.Wait(t, e, execution)
		require.Equal(t, journal.Failed, found.State)
		require.Equal(t, abi.CodeFailedByOperator, found.Error.Code)
		require.Contains(t, found.Error.Message, string(abi.CodeCrashLoop))
	})
}

// TestFailIsForPausedOnes is refused for a running and for a finished execution. Neither is
// changed.
func TestFailIsForPausedOnes(t *testing.T) {
	t.Parallel()
	harness.EachStore(t, func(t *testing.T, store journal.Store) {
		e := harness.Engine(t, store)
		harness.Push(t, e, "races", "tests/guests/races")
		execution := harness.Start(t, e, "races/Long", "k")
		harness.Pending(t, e, execution, abi.OpDeferred, "gate")
		refused := func() {
			before, err := e.Observer().Poll(t.Context(), "", execution)
			require.NoError(t, err)
			require.Equal(t, abi.CodeNotPaused, abi.CodeOf(e.Executions().Fail(t.Context(), "", execution, "enough")))
			after, err := e.Observer().Poll(t.Context(), "", execution)
			require.NoError(t, err)
			require.Equal(t, before, after)
		}
		refused()
		require.Equal(
			t, abi.CodeBadRequest, abi.CodeOf(e.Executions().Fail(t.Context(), "", execution, "")),
			"no reason is given",
		)

		require.NoError(
			t,
			e.Executions().Settle(t.Context(), "", execution, journal.Deferred{
				Name: "gate", Value: harness.Encode(t, "open"),
			}),
		)
		require.Equal(t, journal.Completed, harness.Wait(t, e, execution).State, "it went on undisturbed")
		refused()
	})
}

// TestFailSurvivesACrash has the host die when the failure is durable and no client has heard of it. The next one tells
// the parent.
func TestFailSurvivesACrash(t *testing.T) {
	t.Parallel()
	harness.EachStore(t, func(t *testing.T, store journal.Store) {
		var armed atomic.Bool
		died := make(chan struct{})
		var e *host.Engine
		e = harness.Engine(t, store, func(c *host.Config) {
			undertest.Of(&c.UnderTest).FaultPoint = func(point string) {
				if point == faultpoint.FinalAfterCommit && armed.CompareAndSwap(true, false) {
					e.Kill()
					close(died)
					runtime.Goexit()
				}
			}
		})
		child, parent := pausedChild(t, e)
		armed.Store(true)
		require.Error(t, e.Executions().Fail(t.Context(), "", child, "given up"))
		<-died
		require.NoError(t, e.Stop(context.Background()))

		next := harness.Engine(t, store)
		row := harness.Wait(t, next, child)
		require.Equal(t, journal.Failed, row.State)
		require.Equal(t, abi.CodeFailedByOperator, row.Error.Code)
		requireFailedParent(t, next, parent)
	})
}
