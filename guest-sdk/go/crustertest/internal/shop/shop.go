// Package shop is a module of tests, which calls the module of package billing.
package shop

import (
	cruster "github.com/cruster/cruster/guest-sdk/go"
)

// Charge is an activity; billing has another of that name.
var Charge = cruster.NewActivity("charge", func(_ *cruster.ActivityContext, _ int) (string, error) {
	return "shop", nil
})

// Process calls the workflow of the same name in billing, and an entity there.
var Process = cruster.NewWorkflow("Process", func(ctx cruster.Context, cents int) ([]string, error) {
	own, err := Charge.Call(ctx, cents)
	if err != nil {
		return nil, err
	}
	theirs, err := cruster.RemoteWorkflow[int, string]("billing/Process").WithKeyRaw("one").Execute(ctx, cents)
	if err != nil {
		return nil, err
	}
	total, err := cruster.RemoteOperation[int, string]("billing/Ledger", "add").On("all").Call(ctx, cents)
	return []string{own, theirs, total, cruster.ExecutionID(ctx)}, err
}, cruster.RawKey(func(int) string { return "one" }))

// Ledger has the name of an entity of billing, and another state.
var Ledger = cruster.NewStatefulEntity[string]("Ledger")

var _ = cruster.Migrations(cruster.Migration{Version: 1, Name: "orders", SQL: "CREATE TABLE shop_orders (id TEXT)"})
