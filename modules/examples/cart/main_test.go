package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	cruster "github.com/cruster/cruster/guest-sdk/go"
	"github.com/cruster/cruster/guest-sdk/go/crustertest"
	"github.com/cruster/cruster/internal/sqltest"
)

var (
	apples = Item{SKU: "apple", Quantity: 2, PriceCents: 150}
	pears  = Item{SKU: "pear", Quantity: 1, PriceCents: 200}
)

func TestCart(t *testing.T) {
	t.Parallel()
	db := sqltest.Open(t)
	shop := crustertest.NewEntities(t, crustertest.SQLite(db))
	requireTotal := func(want int64) {
		t.Helper()
		total, err := crustertest.Call(shop, Total, "ada", cruster.None{})
		require.NoError(t, err)
		require.Equal(t, want, total)
	}
	requireTotal(0)
	for _, item := range []Item{apples, pears, apples} {
		_, err := crustertest.Call(shop, Add, "ada", item)
		require.NoError(t, err)
	}
	requireTotal(800)
	total, err := crustertest.Call(shop, Remove, "ada", "pear")
	require.NoError(t, err)
	require.Equal(t, int64(600), total)

	_, err = crustertest.Call(shop, Remove, "ada", "pear")
	require.Equal(t, "no_such_item", cruster.ErrorType(err))
	requireTotal(600)

	order, err := crustertest.Call(shop, Checkout, "ada", cruster.None{})
	require.NoError(t, err)
	require.Equal(t, "ada-1", order)
	cart, ok := crustertest.State(shop, Carts, "ada")
	require.True(t, ok)
	require.Empty(t, cart.Items)
	require.Equal(
		t, []string{"ada-1"},
		sqltest.List(t, db, `SELECT order_id FROM cart_orders WHERE items = 1 AND total_cents = 600`),
	)

	_, err = crustertest.Call(shop, Checkout, "ada", cruster.None{})
	require.Equal(t, "cart_empty", cruster.ErrorType(err))
}

func TestCartRefuses(t *testing.T) {
	t.Parallel()
	shop := crustertest.NewEntities(t)
	_, err := crustertest.Call(shop, Add, "ada", Item{SKU: "apple"})
	require.Equal(t, "invalid_item", cruster.ErrorType(err))
	require.Empty(t, shop.Names(), "an operation that fails creates nothing")

	full := Cart{}
	for i := range MaxItems {
		full.Items = append(full.Items, Item{SKU: string(rune('a' + i)), Quantity: 1})
	}
	crustertest.SetState(shop, Carts, "bob", 0, full)
	_, err = crustertest.Call(shop, Add, "bob", apples)
	require.Equal(t, "cart_full", cruster.ErrorType(err))
}

const month = 30 * 24 * time.Hour

func TestSubscription(t *testing.T) {
	t.Parallel()
	db := sqltest.Open(t)
	var h crustertest.History
	var asked []SubscriptionStatus
	ask := func(after time.Duration) crustertest.Option {
		return crustertest.QueryAfter(after, Status, cruster.None{}, func(s SubscriptionStatus, err error) {
			require.NoError(t, err)
			asked = append(asked, s)
		})
	}
	status, err := crustertest.Run(t, Subscription, SubscriptionRequest{Customer: "ada", Plan: "small"},
		crustertest.SQLite(db), crustertest.Record(&h),
		ask(time.Hour),
		crustertest.SignalAfter(month/2, ChangePlan, NewPlan{Plan: "medium"}),
		crustertest.SignalAfter(month/2, ChangePlan, NewPlan{Plan: "large"}),
		ask(month-1),
		crustertest.SignalAfter(2*month+time.Hour, Cancel, Cancellation{Reason: "too much"}),
		ask(2*month+2*time.Hour))
	require.NoError(t, err)
	require.Equal(t, SubscriptionStatus{Plan: "large", Charged: 3, Canceled: true, Reason: "too much"}, status)
	require.Equal(t, []SubscriptionStatus{{Plan: "small", Charged: 1}, {Plan: "large", Charged: 1}, status}, asked)
	require.Equal(t, 3*month, h.Duration(), "the period that was paid for is served")
	require.Equal(
		t, []string{"small", "large", "large"}, sqltest.List(t, db, `SELECT plan FROM cart_charges ORDER BY period`),
	)
	crustertest.Replay(t, &h)
}

func TestSubscriptionEnds(t *testing.T) {
	t.Parallel()
	db := sqltest.Open(t)
	status, err := crustertest.Run(t, Subscription, SubscriptionRequest{Customer: "ada", Plan: "small", Periods: 2},
		crustertest.SQLite(db), crustertest.Signal(ChangePlan, NewPlan{Plan: "large"}))
	require.NoError(t, err)
	require.Equal(t, SubscriptionStatus{Plan: "large", Charged: 2}, status)
	require.Equal(t, []string{"small", "large"}, sqltest.List(t, db, `SELECT plan FROM cart_charges ORDER BY period`))
}
