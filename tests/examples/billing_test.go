package examples

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host"
	"github.com/cruster/cruster/internal/harness"
	"github.com/cruster/cruster/journal"
)

// TestBilling: a subscription goes on as a new run, and stops when the customer cancels. The
// report knows every charge once, and the schedule is there that starts it.
func TestBilling(t *testing.T) {
	t.Parallel()
	harness.EachSetting(t, func(t *testing.T, below string, store journal.Store) {
		e := harness.Engine(t, store)
		harness.Push(t, e, "billing", "modules/examples/billing"+below)
		execution := harness.Start(t, e, "billing/Billing", object{"customer": "ada", "cents": 500, "period_ms": 1})
		harness.Eventually(t, "the subscription has continued", func() bool {
			row, err := e.Observer().Poll(t.Context(), "", execution)
			require.NoError(t, err)
			return row.Continued > 0
		})
		charged := cancel(t, e, execution)
		require.GreaterOrEqual(t, charged, int64(100))
		require.Equal(t, 500*charged, harness.Execute[int64](t, e, "billing/Report", object{}))

		daily, err := e.Schedules().Describe(t.Context(), "", "billing/daily", 1)
		require.NoError(t, err)
		require.Equal(t, "billing/Report", daily.Spec.Workflow)
	})
}

// TestBillingInTheOtherLanguage: a subscription that has charged, received and published goes on
// in the module of the other language, and comes back.
func TestBillingInTheOtherLanguage(t *testing.T) {
	t.Parallel()
	other := map[string]string{"": "/rust", "/rust": ""}
	harness.EachSetting(t, func(t *testing.T, from string, store journal.Store) {
		e := harness.Engine(t, store)
		harness.Push(t, e, "billing", "modules/examples/billing"+from)
		execution := harness.Start(t, e, "billing/Billing", object{
			"customer": "ada", "cents": 500, "period_ms": 3_600_000,
		})
		harness.Pending(t, e, execution, abi.OpSleep, "")
		for _, below := range []string{other[from], from} {
			send(t, e, execution, "change_plan", object{"cents": 700})
			harness.Push(t, e, "billing", "modules/examples/billing"+below)
			_, err := e.Executions().Move(t.Context(), "", execution, host.Latest)
			require.NoError(t, err)
		}
		require.Equal(t, int64(1), cancel(t, e, execution))
	})
}

func send(t *testing.T, e *host.Engine, execution, signal string, value object) {
	t.Helper()
	require.NoError(
		t,
		e.Executions().Signal(t.Context(), "", execution, host.SignalRequest{
			Name: signal, Value: harness.Encode(t, value),
		}),
	)
}

// cancel ends a subscription, and returns how many periods it was charged for.
func cancel(t *testing.T, e *host.Engine, execution string) int64 {
	t.Helper()
	send(t, e, execution, "cancel", object{"reason": "moved away"})
	row := harness.Wait(t, e, execution)
	require.Equal(t, journal.Completed, row.State, "%v", row.Error)
	result := harness.Decode[struct {
		Charged int64  `json:"charged"`
		Reason  string `json:"reason"`
	}](t, row.Value)
	require.Equal(t, "moved away", result.Reason)
	return result.Charged
}
