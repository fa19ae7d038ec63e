package examples

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	client "github.com/cruster/cruster/clients/go"
	"github.com/cruster/cruster/host"
	"github.com/cruster/cruster/internal/extenttest"
	"github.com/cruster/cruster/internal/harness"
)

// TestStagingBesideProduction: one module with tables, under one name in two namespaces of one store. The host is
// killed while money moves in both. In the end it has moved once in each, and the rows of the one are not in the
// other.
func TestStagingBesideProduction(t *testing.T) {
	t.Parallel()
	for _, c := range extenttest.Each(t, len(harness.Languages), len(harness.StoreKinds)) {
		runKilled(t, "transfer", c[0], c[1], killStaging)
	}
}

func killStaging(v *victim) {
	v.begin("transfer", nil)
	staging, err := client.Dial(v.p.GRPC, client.WithRetryFor(harness.Patience), client.WithNamespace("staging"))
	require.NoError(v.t, err)
	v.t.Cleanup(func() { _ = staging.Close() })
	_, err = staging.Push(v.t.Context(), client.PushRequest{Name: "transfer", Binary: harness.Module(v.t, v.folder)})
	require.NoError(v.t, err)

	const transfers = 20
	first := map[string]int64{host.DefaultNamespace: 1000, "staging": 500}
	both := map[string]*client.Client{host.DefaultNamespace: v.Client, "staging": staging}
	for namespace, c := range both {
		for account, cents := range map[string]int64{"ada": first[namespace], "bob": 0} {
			_, err := client.Workflow[object, object](c, "transfer/OpenAccount").Execute(v.t.Context(), object{
				"account": account, "balance_cents": cents,
			})
			require.NoError(v.t, err)
		}
	}
	runs := map[string][]client.Run[object]{}
	for i := range transfers {
		for namespace, c := range both {
			run, err := client.Workflow[object, object](c, "transfer/Transfer").Start(v.t.Context(),
				object{"transfer_id": fmt.Sprintf("t%02d", i), "from": "ada", "to": "bob", "amount_cents": 10})
			require.NoError(v.t, err)
			runs[namespace] = append(runs[namespace], run)
		}
		if i == transfers/2 {
			v.kill()
		}
	}
	v.kill()
	for namespace := range both {
		for _, run := range runs[namespace] {
			_, err := run.Wait(v.t.Context())
			require.NoError(v.t, err)
		}
	}
	for namespace, cents := range first {
		got := v.rowsIn(
			namespace, "SELECT account, balance_cents FROM accounts ORDER BY account",
			"SELECT count(*), sum(ledger.amount_cents) FROM ledger",
		)
		balances := []string{fmt.Sprintf("ada %d", cents-10*transfers), fmt.Sprintf("bob %d", 10*transfers)}
		require.Equal(v.t, [][]string{balances, {fmt.Sprintf("%d %d", transfers, 10*transfers)}}, got, namespace)
	}
}
