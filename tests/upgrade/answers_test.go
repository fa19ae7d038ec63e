package upgrade_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host"
	"github.com/cruster/cruster/internal/harness"
	"github.com/cruster/cruster/journal"
)

// TestAResultThatOpenExecutionsCannotReadPausesThem: a push that changes the type of an operation's result is refused
// while executions are open. If it is made all the same, an execution that gets such a result is paused: the result
// stays, and no code runs because of it. It is moved to code that reads the result, and goes on there; the operation
// has run once.
func TestAResultThatOpenExecutionsCannotReadPausesThem(t *testing.T) {
	t.Parallel()
	for language, folders := range map[string][2]string{
		"go":   {"tests/guests/answers/number", "tests/guests/answers/text"},
		"rust": {"tests/guests/answers/rust", "tests/guests/answers-text/rust"},
	} {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			harness.EachStore(t, func(t *testing.T, store journal.Store) {
				first := harness.Engine(t, store)
				harness.Push(t, first, "answers", folders[0])
				execution := harness.Start(t, first, "answers/Stay", "ritz")
				harness.Pending(t, first, execution, abi.OpDeferred, "gate")

				refusesResult(t, first, folders[1])
				harness.Push(t, first, "answers", folders[1], func(r *host.PushRequest) { r.Anyway = true })
				require.NoError(
					t,
					first.Executions().Settle(t.Context(), "", execution, journal.Deferred{
						Name: "gate", Value: harness.Encode(t, true),
					}),
				)
				requireUnreadable(t, harness.Wait(t, first, execution))
				require.NoError(t, first.Stop(context.Background()))

				second := harness.Engine(t, store)
				require.NoError(t, second.Executions().Resume(t.Context(), "", execution))
				requireUnreadable(t, harness.Wait(t, second, execution))
				require.EqualValues(t, 1, booked(t, second), "it was neither cancelled nor booked again")

				_, err := second.Executions().Move(t.Context(), "", execution, host.Latest)
				require.NoError(t, err)
				row := harness.Wait(t, second, execution)
				require.Equal(t, journal.Completed, row.State, "%v", row.Error)
				require.Equal(t, "room no. 1", harness.Decode[string](t, row.Value))
				require.EqualValues(t, 1, booked(t, second))
			})
		})
	}
}

// refusesResult checks that a module with another type of result is refused, and that a check says so before.
func refusesResult(t *testing.T, e *host.Engine, folder string) {
	t.Helper()
	check := host.CheckRequest{Name: "answers", Binary: harness.Module(t, folder), Types: true}
	checked := e.Deployments().Check(t.Context(), check, func(r host.CheckResult, _, _ int) error {
		require.True(t, r.Fits, r.Reason)
		return nil
	})
	_, pushed := e.Deployments().Push(t.Context(), host.PushRequest{Name: "answers", Binary: check.Binary})
	for _, err := range []error{checked, pushed} {
		require.Equal(t, abi.CodeStateLost, abi.CodeOf(err), "%v", err)
		require.ErrorContains(
			t, err, "they cannot read the result of operation book any more: it is string, and was int",
		)
	}
}

func requireUnreadable(t *testing.T, row *journal.Execution) {
	t.Helper()
	require.Equal(t, journal.Paused, row.State, "value %x, error %v", row.Value, row.Error)
	require.Equal(t, abi.CodeUnreadable, row.Error.Code, "%v", row.Error)
	require.Contains(t, row.Error.Message, "the result of operation book")
}

func booked(t *testing.T, e *host.Engine) int64 {
	t.Helper()
	out, err := e.Entities().Call(t.Context(), host.EntityRequest{
		Entity: "answers/Hotel/ritz", Operation: "booked", Input: harness.Encode(t, nil),
	})
	require.NoError(t, err)
	require.Nil(t, out.Error)
	return harness.Decode[int64](t, out.Value)
}
