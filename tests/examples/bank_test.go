package examples

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/host"
	"github.com/cruster/cruster/internal/harness"
	"github.com/cruster/cruster/journal"
)

// TestBank: transfers in all directions at once come to an end, and nothing is lost. tests/entities
// has many of them, with hosts that are killed.
func TestBank(t *testing.T) {
	t.Parallel()
	harness.EachSetting(t, func(t *testing.T, below string, store journal.Store) {
		e := harness.Engine(t, store)
		harness.Push(t, e, "bank", "modules/examples/bank"+below)
		testTransfers(t, e)
	})
}

func testTransfers(t *testing.T, e *host.Engine) {
	const accounts, each, transfers = 4, 100, 40
	account := func(i int) string { return fmt.Sprintf("a%d", i%accounts) }
	for i := range accounts {
		_, err := e.Entities().Call(t.Context(), host.EntityRequest{
			Entity: "bank/Account/" + account(i), Operation: "deposit", Input: harness.Encode(t, each),
		})
		require.NoError(t, err)
	}
	var runs []string
	for i := range transfers {
		row, _, err := e.Launcher().Start(t.Context(), host.StartRequest{
			Workflow: "bank/Transfer",
			Input: harness.Encode(t, object{
				"transfer_id": fmt.Sprint(i), "from": account(i), "to": account(i*i + 1 + i/accounts), "cents": 10 + i,
			}),
		})
		require.NoError(t, err)
		runs = append(runs, row.Name())
	}
	moved := 0
	for _, run := range runs {
		row := harness.Wait(t, e, run)
		if row.State == journal.Failed {
			require.Equal(t, "invalid_transfer", row.Error.Type)
			continue
		}
		require.Equal(t, journal.Completed, row.State, "%v", row.Error)
		moved++
	}
	require.Greater(t, moved, transfers/2)
	sum := int64(0)
	for i := range accounts {
		outcome, err := e.Entities().Call(t.Context(), host.EntityRequest{
			Entity: "bank/Account/" + account(i), Operation: "balance",
		})
		require.NoError(t, err)
		sum += harness.Decode[int64](t, outcome.Value)
	}
	require.EqualValues(t, accounts*each, sum)
}
