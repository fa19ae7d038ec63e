package main

import (
	"time"

	cruster "github.com/cruster/cruster/guest-sdk/go"
)

var (
	stageState   = cruster.NewState[string]("stage")
	partsState   = cruster.NewState[[]string]("parts")
	amountAttr   = cruster.NewAttribute[float64]("amount")
	customerAttr = cruster.NewAttribute[string]("customer")
	sinceAttr    = cruster.NewAttribute[time.Time]("since")
	vipAttr      = cruster.NewAttribute[bool]("vip")
)

// Publishes publishes everything, changes some of it behind the gate, and takes some away at its
// end. It returns what it has last set.
var Publishes = cruster.NewWorkflow("Publishes", func(ctx cruster.Context, customer string) ([]any, error) {
	before, ok := stageState.Get(ctx)
	stageState.Set(ctx, "never seen")
	stageState.Set(ctx, "begun")
	partsState.Set(ctx, []string{"a"})
	customerAttr.Set(ctx, customer)
	amountAttr.Set(ctx, 12.5)
	vipAttr.Set(ctx, true)
	sinceAttr.Set(ctx, time.Date(2026, time.January, 2, 3, 4, 5, 0, time.UTC))
	cruster.SetProgress(ctx, 1, 3, "one")
	if _, err := gate.Await(ctx); err != nil {
		return nil, err
	}
	stageState.Set(ctx, "over")
	partsState.Clear(ctx)
	_, cleared := partsState.Get(ctx)
	amountAttr.Set(ctx, -1)
	vipAttr.Clear(ctx)
	cruster.SetProgress(ctx, 3, 3, "")
	after, _ := stageState.Get(ctx)
	return []any{before, ok, after, cleared}, nil
}).Publishes(stageState, partsState, amountAttr, customerAttr, sinceAttr, vipAttr)

// PublishesAndFails leaves behind what it has published.
var PublishesAndFails = cruster.NewWorkflow("PublishesAndFails", func(ctx cruster.Context, _ cruster.None) (int, error) {
	stageState.Set(ctx, "failed")
	return 0, cruster.Errorf("failed", "it failed as it was told")
}).Publishes(stageState)
