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

type member struct {
	Grade string `json:"grade"`
}

// TestARequestThatANewRunCannotDecodePausesIt: the deployed code takes the request of a run that continues, as far as
// its type says, and does not decode it. Nothing has failed that anyone could see to, so the run is paused, on every
// host, and is moved to code that decodes it. A caller who starts an execution with such a request gets an error.
func TestARequestThatANewRunCannotDecodePausesIt(t *testing.T) {
	t.Parallel()
	harness.EachStore(t, func(t *testing.T, store journal.Store) {
		first := harness.Engine(t, store)
		harness.Push(t, first, "club", "tests/guests/renewals/lenient")
		execution := harness.Start(t, first, "club/Member", member{"silver"})
		harness.Pending(t, first, execution, abi.OpDeferred, "gate")
		harness.Push(t, first, "club", "tests/guests/renewals/strict")
		open := journal.Deferred{Name: "gate", Value: harness.Encode(t, true)}
		require.NoError(t, first.Executions().Settle(t.Context(), "", execution, open))
		undecoded := func(row *journal.Execution) {
			require.Equal(t, journal.Paused, row.State, "value %x, error %v", row.Value, row.Error)
			require.Equal(t, abi.CodeUnreadable, row.Error.Code, "%v", row.Error)
			require.Contains(t, row.Error.Message, "there is no grade gold")
		}
		undecoded(harness.Wait(t, first, execution))
		require.NoError(t, first.Stop(context.Background()))

		second := harness.Engine(t, store)
		require.NoError(t, second.Executions().Resume(t.Context(), "", execution))
		undecoded(harness.Wait(t, second, execution))
		harness.Push(t, second, "club", "tests/guests/renewals/lenient")
		_, err := second.Executions().Move(t.Context(), "", execution, host.Latest)
		require.NoError(t, err)
		require.NoError(t, second.Executions().Settle(t.Context(), "", execution, open))
		row := harness.Wait(t, second, execution)
		require.Equal(t, journal.Completed, row.State, "%v", row.Error)
		require.Equal(t, member{"gold"}, harness.Decode[member](t, row.Value))
		require.EqualValues(t, 1, row.Continued)
	})
}

// TestTerminateBreaksOffTheAnswerOfACopy: an answer that never ends is stopped at once when its execution is ended,
// though a copy of the guest computes it. An answer that had reached its limit before is asked for again.
func TestTerminateBreaksOffTheAnswerOfACopy(t *testing.T) {
	t.Parallel()
	harness.EachStore(t, func(t *testing.T, store journal.Store) {
		e := harness.Engine(t, store)
		harness.Push(t, e, "club", "tests/guests/renewals/lenient")
		harness.Eventually(t, "an answer is broken off", func() bool {
			execution := harness.Start(t, e, "club/Member", member{"silver"})
			harness.Pending(t, e, execution, abi.OpDeferred, "gate")
			asked := make(chan error, 1)
			go func() {
				_, err := e.Executions().Query(context.Background(), "", execution, host.QueryRequest{Name: "endless"})
				asked <- err
			}()
			require.NoError(t, e.Executions().Terminate(t.Context(), "", execution, "enough"))
			err := <-asked
			require.Error(t, err)
			require.NoError(t, e.Maintenance().Delete(t.Context(), "", execution, ""))
			return abi.CodeOf(err) == abi.CodeAlreadyOver &&
				abi.AsError(err).Message == execution+" was ended while it answered"
		})
	})
}
