package examples

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/host"
	"github.com/cruster/cruster/internal/harness"
	"github.com/cruster/cruster/journal"
)

type object = map[string]any

// subscriptionStatus is the answer and the result of a subscription of the example.
type subscriptionStatus struct {
	Plan     string `json:"plan"`
	Charged  int64  `json:"charged"`
	Canceled bool   `json:"canceled"`
	Reason   string `json:"reason"`
}

// TestCart: a checkout that is asked for twice is one order, and empties the cart. A subscription receives a signal
// that was sent together with its start, and answers while it sleeps.
func TestCart(t *testing.T) {
	t.Parallel()
	harness.EachSetting(t, func(t *testing.T, below string, store journal.Store) {
		e := harness.Engine(t, store)
		harness.Push(t, e, "cart", "modules/examples/cart"+below)
		testCheckout(t, e)
		testSubscription(t, e)
		testStatus(t, e)
	})
}

func testCheckout(t *testing.T, e *host.Engine) {
	apples := object{"sku": "apple", "quantity": 2, "price_cents": 150}
	for _, request := range []string{"1", "1", "2"} {
		operate[int64](t, e, "add", request, apples)
	}
	require.Equal(t, int64(600), operate[int64](t, e, "total", "", nil))
	for range 2 {
		require.Equal(t, "ada-1", operate[string](t, e, "checkout", "3", nil))
	}
	require.Equal(t, int64(0), operate[int64](t, e, "total", "", nil))
	harness.Eventually(t, "the order is placed", func() bool {
		_, err := e.Observer().Poll(t.Context(), "", "cart/PlaceOrder/ada-1")
		return err == nil
	})
	row := harness.Wait(t, e, "cart/PlaceOrder/ada-1")
	require.Equal(t, journal.Completed, row.State, "%v", row.Error)
	require.EqualValues(t, 600, harness.Decode[object](t, row.Value)["total_cents"])
}

// operate calls an operation of the cart.
func operate[T any](t *testing.T, e *host.Engine, operation, request string, input any) T {
	t.Helper()
	req := host.EntityRequest{Entity: "cart/Cart/ada", Operation: operation, RequestID: request}
	if input != nil {
		req.Input = harness.Encode(t, input)
	}
	out, err := e.Entities().Call(t.Context(), req)
	require.NoError(t, err)
	require.Nil(t, out.Error)
	return harness.Decode[T](t, out.Value)
}

func testSubscription(t *testing.T, e *host.Engine) {
	row, existed, err := e.Launcher().SignalWithStart(t.Context(), subscribe(t, "ada", 1),
		host.SignalRequest{Name: "change_plan", Value: harness.Encode(t, object{"plan": "large"})})
	require.NoError(t, err)
	require.False(t, existed)
	row = harness.Wait(t, e, row.Name())
	require.Equal(t, journal.Completed, row.State, "%v", row.Error)
	require.Equal(t, subscriptionStatus{Plan: "large", Charged: 3}, harness.Decode[subscriptionStatus](t, row.Value))
}

func subscribe(t *testing.T, customer string, periodMS int) host.StartRequest {
	return host.StartRequest{
		Workflow: "cart/Subscription",
		Input:    harness.Encode(t, object{"customer": customer, "plan": "small", "period_ms": periodMS, "periods": 3}),
	}
}

func testStatus(t *testing.T, e *host.Engine) {
	row, _, err := e.Launcher().Start(t.Context(), subscribe(t, "bob", 3_600_000))
	require.NoError(t, err)
	for name, value := range map[string]object{"change_plan": {"plan": "large"}, "cancel": {"reason": "too much"}} {
		require.NoError(
			t,
			e.Executions().Signal(t.Context(), "", row.Name(), host.SignalRequest{
				Name: name, Value: harness.Encode(t, value),
			}),
		)
	}
	want := subscriptionStatus{Plan: "large", Charged: 1, Canceled: true, Reason: "too much"}
	harness.Eventually(t, "the subscription knows both signals", func() bool {
		answer, err := e.Executions().Query(t.Context(), "", row.Name(), host.QueryRequest{Name: "status"})
		require.NoError(t, err)
		return harness.Decode[subscriptionStatus](t, answer) == want
	})
	require.NoError(t, e.Executions().Interrupt(t.Context(), "", row.Name(), "the test is over"))
	require.Equal(t, journal.Interrupted, harness.Wait(t, e, row.Name()).State)
}
