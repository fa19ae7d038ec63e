package examples

import (
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host"
	"github.com/cruster/cruster/internal/harness"
	"github.com/cruster/cruster/internal/paytest"
	"github.com/cruster/cruster/internal/pgtest"
	"github.com/cruster/cruster/journal"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

// TestTheMoneyGoesBack: an order that is interrupted after it was charged is refunded through the payment service,
// once, also if the service answers only the third call.
func TestTheMoneyGoesBack(t *testing.T) {
	t.Parallel()
	harness.EachSetting(t, func(t *testing.T, below string, store journal.Store) {
		service := paytest.Start(t)
		service.Answer(refundOnThirdCall())
		e := harness.Engine(t, store)
		harness.Push(t, e, "orders", "modules/examples/orders"+below, func(r *host.PushRequest) {
			r.Config = map[string]string{"payments_url": service.URL}
			r.AllowHTTP = []string{strings.TrimSuffix(strings.TrimPrefix(service.URL, "http://"), "/charges")}
		})
		execution := harness.Start(t, e, "orders/ProcessOrder", map[string]any{
			"order_id": "42", "email": "a@b.c", "cooling_off_ms": 3_600_000,
			"items": []map[string]any{{"sku": "apple", "quantity": 2, "price_cents": 150}},
		})
		harness.Pending(t, e, execution, abi.OpSleep, "")
		requireBalance(t, service, 300, 0)

		require.NoError(t, e.Executions().Interrupt(t.Context(), "", execution, "changed my mind"))
		row := harness.Wait(t, e, execution)
		require.Equal(t, journal.Interrupted, row.State, "%v", row.Error)
		requireBalance(t, service, 300, 300)
		requireOneKeyEach(t, service.Calls())
	})
}

func refundOnThirdCall() func(paytest.Call) int {
	refunds := 0
	return func(c paytest.Call) int {
		if c.Path == "/charges" {
			return http.StatusOK
		}
		if refunds++; refunds < 3 {
			return http.StatusBadGateway
		}
		return http.StatusOK
	}
}

func requireBalance(t *testing.T, service *paytest.Service, taken, refunded int) {
	t.Helper()
	gotTaken, gotRefunded := service.Balance("42")
	require.Equal(t, [2]int{taken, refunded}, [2]int{gotTaken, gotRefunded}, "taken and refunded")
}

// requireOneKeyEach checks that one charge and one refund were asked for, however often.
func requireOneKeyEach(t *testing.T, calls []paytest.Call) {
	t.Helper()
	keys := map[string]map[string]bool{"/charges": {}, "/charges/refunds": {}}
	refunds := 0
	for _, c := range calls {
		keys[c.Path][c.Key] = true
		if c.Path == "/charges/refunds" {
			refunds++
		}
	}
	require.Len(t, keys["/charges"], 1)
	require.Len(t, keys["/charges/refunds"], 1)
	require.GreaterOrEqual(t, refunds, 3)
}
