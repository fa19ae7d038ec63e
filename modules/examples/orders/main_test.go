package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	cruster "github.com/cruster/cruster/guest-sdk/go"
	"github.com/cruster/cruster/guest-sdk/go/crustertest"
	"github.com/cruster/cruster/internal/sqltest"
)

var request = OrderRequest{OrderID: "42", Email: "a@b.c", Items: []Item{{SKU: "apple", Quantity: 2, PriceCents: 150}}}

func TestProcessOrder(t *testing.T) {
	t.Parallel()
	db := sqltest.Open(t)
	var h crustertest.History
	res, err := crustertest.Run(t, ProcessOrder, request, crustertest.SQLite(db), crustertest.Record(&h))
	require.NoError(t, err)
	require.Equal(t, "confirmed", res.Status)
	require.Equal(t, int64(300), res.TotalCents)
	require.Regexp(t, "^ch_test/ProcessOrder/42/charge/[0-9a-f]{8}/1$", res.ChargeID)
	require.Equal(t, []string{
		"activity reserve", "activity charge", "sleep 2s", "activity confirm", "call NotifyCustomer",
	}, h.Steps())
	crustertest.Replay(t, &h)

	require.Equal(t, []string{"confirmed"}, sqltest.List(t, db, `SELECT status FROM orders`))
	require.Equal(t, []string{"apple"}, sqltest.List(t, db, `SELECT sku FROM reservations`))
	require.Equal(
		t, []string{res.ChargeID}, sqltest.List(t, db, `SELECT charge_id FROM charges WHERE status = 'taken'`),
	)
	require.Equal(t, []string{res.NotificationID}, sqltest.List(t, db, `SELECT notification_id FROM notifications`))
	require.Equal(
		t, []string{"charge", "confirm", "reserve", "send"},
		sqltest.List(t, db, `SELECT step FROM order_effects ORDER BY step`),
	)
}

func TestChargeIsRetried(t *testing.T) {
	t.Parallel()
	db := sqltest.Open(t)
	req := request
	req.FailCharges = 2
	_, err := crustertest.Run(t, ProcessOrder, req, crustertest.SQLite(db))
	require.NoError(t, err)
	require.Equal(
		t, []string{"3"}, sqltest.List(t, db, `SELECT attempt FROM charges`), "only the third attempt is stored",
	)
}

func TestFailedChargeCancelsTheOrder(t *testing.T) {
	t.Parallel()
	db := sqltest.Open(t)
	req := request
	req.FailCharges = 100
	_, err := crustertest.Run(t, ProcessOrder, req, crustertest.SQLite(db))
	require.Equal(t, "payment_unavailable", cruster.ErrorType(err))
	require.Equal(t, []string{"cancelled"}, sqltest.List(t, db, `SELECT status FROM orders`))
	require.Empty(t, sqltest.List(t, db, `SELECT sku FROM reservations`))
}

func TestInterruptRefunds(t *testing.T) {
	t.Parallel()
	db := sqltest.Open(t)
	_, err := crustertest.Run(
		t, ProcessOrder, request, crustertest.SQLite(db), crustertest.InterruptAfter(time.Second, "changed my mind"),
	)
	require.Equal(t, string(abi.CodeInterrupted), cruster.ErrorCode(err))
	require.Equal(t, []string{"refunded"}, sqltest.List(t, db, `SELECT status FROM charges`))
	require.Equal(t, []string{"cancelled"}, sqltest.List(t, db, `SELECT status FROM orders`))
}

func TestBadOrdersDoNothing(t *testing.T) {
	t.Parallel()
	for _, req := range []OrderRequest{
		{OrderID: "1"},
		{OrderID: "1", Items: []Item{{SKU: "apple", Quantity: -1, PriceCents: 1}}},
		{OrderID: "1", Items: []Item{{Quantity: 1, PriceCents: 1}}},
	} {
		var h crustertest.History
		_, err := crustertest.Run(t, ProcessOrder, req, crustertest.Record(&h))
		require.Equal(t, "invalid_order", cruster.ErrorType(err))
		require.Empty(t, h.Steps())
	}
}
