package main

import (
	"time"

	cruster "github.com/cruster/cruster/guest-sdk/go"
)

// Order is the order of a checkout.
type Order struct {
	ID         string `json:"order_id"`
	Items      int64  `json:"items"`
	TotalCents int64  `json:"total_cents"`
}

// PlaceOrder places an order, once per order. An operation of an entity has no SQL: the workflow that it starts does
// that.
var PlaceOrder = cruster.NewWorkflow("PlaceOrder", placeOrder,
	cruster.RawKey(func(o Order) string { return o.ID }))

func placeOrder(ctx cruster.Context, o Order) (Order, error) {
	_, err := Store.Call(ctx, o)
	return o, err
}

// Store writes the order down.
var Store = cruster.NewActivity("store", store, cruster.Retries(3), cruster.ExponentialBackoff(100*time.Millisecond))

func store(ctx *cruster.ActivityContext, o Order) (bool, error) {
	_, err := ctx.Tx().Exec(`INSERT INTO cart_orders (order_id, items, total_cents) VALUES ($1, $2, $3)`,
		o.ID, o.Items, o.TotalCents)
	return err == nil, err
}
