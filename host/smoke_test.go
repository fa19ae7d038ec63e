package host_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/internal/harness"
	"github.com/cruster/cruster/internal/pgtest"
	"github.com/cruster/cruster/journal"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

type object = map[string]any

func TestOrderRunsToItsEnd(t *testing.T) {
	t.Parallel()
	harness.EachStore(t, func(t *testing.T, store journal.Store) {
		e := harness.Engine(t, store)
		harness.Push(t, e, "orders", "modules/examples/orders")
		res := harness.Execute[object](t, e, "orders/ProcessOrder", object{
			"order_id": "42", "email": "a@b.c", "cooling_off_ms": 10,
			"items": []object{{"sku": "apple", "quantity": 2, "price_cents": 150}},
		})
		require.Equal(t, "42", res["order_id"])
	})
}
