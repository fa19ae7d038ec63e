package guide

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	cruster "github.com/cruster/cruster/guest-sdk/go"
	"github.com/cruster/cruster/guest-sdk/go/crustertest"
	"github.com/cruster/cruster/internal/sqltest"
)

const day = 24 * time.Hour

var order = Order{ID: "42", Cents: 300}

func TestProcessOrder(t *testing.T) {
	var h crustertest.History
	res, err := crustertest.Run(t, ProcessOrder, Order{ID: "42", Cents: 300},
		crustertest.Stub(Charge, func(ctx *cruster.ActivityContext, o Order) (string, error) { return "ch_1", nil }),
		crustertest.Record(&h))
	require.NoError(t, err)
	require.Equal(t, "ch_1", res)
	require.Equal(t, []string{"activity charge", "sleep 336h0m0s"}, h.Steps())
	crustertest.Replay(t, &h) // runs it again from its history: is it deterministic?
}

// run runs a workflow to its end, which must be a result, and once more from its history.
func run[Req, Res any](
	t *testing.T, wf *cruster.Workflow[Req, Res], req Req, opts ...crustertest.Option,
) (Res, time.Duration) {
	t.Helper()
	var h crustertest.History
	res, err := crustertest.Run(t, wf, req, append(opts, crustertest.Record(&h))...)
	require.NoError(t, err)
	crustertest.Replay(t, &h)
	return res, h.Duration()
}

func TestCallAnActivity(t *testing.T) {
	t.Parallel()
	db := sqltest.Open(t)
	ids, _ := run(t, ChargeTwice, order, crustertest.SQLite(db))
	require.Len(t, ids, 2)
	require.NotEqual(t, ids[0], ids[1])
	require.Equal(t, []string{"42 300", "42 300"}, sqltest.List(t, db, `SELECT order_id || ' ' || cents FROM charges`))
}

func TestRetry(t *testing.T) {
	t.Parallel()
	attempts := 0
	_, took := run(
		t,
		ProcessOrder,
		order,
		crustertest.Stub(Charge, func(ctx *cruster.ActivityContext, _ Order) (string, error) {
			attempts = ctx.Attempt()
			if attempts < 4 {
				return "", errors.New("not yet")
			}
			return "ch_1", nil
		}),
	)
	require.Equal(t, 4, attempts)
	require.Equal(t, 14*day+7*time.Second, took, "one, two and four seconds between the attempts")
}

func TestShareActivities(t *testing.T) {
	t.Parallel()
	require.Equal(t, "Payments.Refund", Refund.Name())
}

func TestChangeTheDatabase(t *testing.T) {
	t.Parallel()
	cents, _ := run(t, SpendOnce, cruster.None{}, crustertest.SQLite(sqltest.Open(t)))
	require.Equal(t, []int64{400, 700}, cents)
}

func TestMakeAnHTTPCall(t *testing.T) {
	t.Parallel()
	var keys []string
	statuses := []int{503, 429, 200}
	answer := func(r cruster.HTTPRequest) (cruster.HTTPResponse, error) {
		require.JSONEq(t, `{"id":"42","cents":300}`, string(r.Body))
		for _, h := range r.Headers {
			if h.Name == "Idempotency-Key" {
				keys = append(keys, h.Value)
			}
		}
		return cruster.HTTPResponse{Status: statuses[len(keys)-1]}, nil
	}
	url := crustertest.Config("notify_url", "https://example.com/orders")
	status, _ := run(t, NotifyOnce, order, crustertest.HandleHTTP(answer), url)
	require.Equal(t, 200, status)
	require.Len(t, keys, 3)
	require.Equal(t, []string{keys[0], keys[0]}, keys[1:])

	keys, statuses = nil, []int{404}
	_, err := crustertest.Run(t, NotifyOnce, order, crustertest.HandleHTTP(answer), url)
	require.Equal(t, "http_status", cruster.ErrorType(err))
	require.Len(t, keys, 1)
}

func TestSleep(t *testing.T) {
	t.Parallel()
	start := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	for deadline, took := range map[time.Duration]time.Duration{40 * day: 40 * day, 20 * day: 30 * day} {
		now, slept := run(t, Remind, start.Add(deadline), crustertest.StartTime(start))
		require.Equal(t, took, slept)
		require.WithinDuration(t, start.Add(took), now, 0)
	}
}

func TestWaitForAPerson(t *testing.T) {
	t.Parallel()
	yes := Decision{Approved: true, By: "ada"}
	decision, took := run(t, RequestApproval, "budget", crustertest.ResolveAfter(day, Approved, yes))
	require.Equal(t, yes, decision)
	require.Equal(t, day, took)

	asked, _ := run(t, AskAda, "budget")
	require.Equal(t, Asked{Settled: []bool{true, false, true}, Decision: yes}, asked)

	approved, took := run(t, RequestApprovals, []string{"ada", "bob"},
		crustertest.ResolveAfter(2*day, Approvals.Named("ada"), yes),
		crustertest.ResolveAfter(day, Approvals.Named("bob"), yes),
	)
	require.True(t, approved)
	require.Equal(t, 2*day, took)
}

func TestDeferredsThatAreRefused(t *testing.T) {
	t.Parallel()
	wait := crustertest.ResolveAfter(day, Approved, Decision{})
	_, err := crustertest.Run(
		t, RequestApproval, "budget", crustertest.ResolveAfter(time.Hour, Approvals.Named("ada"), Decision{}), wait,
	)
	require.Equal(t, string(abi.CodeUnknownDeferred), cruster.ErrorCode(err))
	misspelt := cruster.NewDeferred[map[string]bool]("approved")
	_, err = crustertest.Run(
		t, RequestApproval, "budget", crustertest.ResolveAfter(time.Hour, misspelt, map[string]bool{"aproved": true}),
		wait,
	)
	require.Equal(t, string(abi.CodeBadInput), cruster.ErrorCode(err))
	require.ErrorContains(t, err, `did you mean "approved"?`)
}

func TestReceiveSignals(t *testing.T) {
	t.Parallel()
	first := crustertest.Signal(Paid, Payment{Cents: 200})
	cents, took := run(t, Collect, "", first, crustertest.SignalAfter(time.Hour, Paid, Payment{Cents: 100}))
	require.Equal(t, int64(300), cents)
	require.Equal(t, time.Hour, took)
	cents, took = run(t, Collect, "", first, crustertest.SignalAfter(25*time.Hour, Paid, Payment{Cents: 100}))
	require.Equal(t, int64(200), cents)
	require.Equal(t, day, took)
	cents, _ = run(t, PayTwice, cruster.None{})
	require.Equal(t, int64(300), cents)

	_, err := crustertest.Run(
		t, Collect, "", crustertest.SignalAfter(time.Hour, cruster.NewSignal[Payment]("refunded"), Payment{}),
	)
	require.Equal(t, string(abi.CodeUnknownSignal), cruster.ErrorCode(err))
	_, err = crustertest.Run(
		t, Collect, "", crustertest.SignalAfter(time.Hour, cruster.NewSignal[string]("paid"), "much"),
	)
	require.Equal(t, string(abi.CodeBadInput), cruster.ErrorCode(err))
}

func TestAtAPlace(t *testing.T) {
	t.Parallel()
	cents, err := crustertest.Run(t, Collect, "",
		crustertest.When(crustertest.Reached("receive paid"), crustertest.Signal(Paid, Payment{Cents: 200})),
		crustertest.When(
			crustertest.Reached("receive paid").Times(2), crustertest.SignalAfter(time.Hour, Paid, Payment{Cents: 100}),
		))
	require.NoError(t, err)
	require.Equal(t, int64(300), cents)
}

func TestAnswerQueries(t *testing.T) {
	t.Parallel()
	asked := -1
	files, _ := run(t, Import, []string{"a", "b", "c"},
		crustertest.QueryAfter(90*time.Second, Progress, cruster.None{}, func(done int, err error) {
			require.NoError(t, err)
			asked = done
		}))
	require.Equal(t, 1, asked)
	require.Equal(t, 3, files)
}
