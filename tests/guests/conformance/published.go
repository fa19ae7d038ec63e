package main

import (
	"errors"
	"math"
	"strings"
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
// end. It returns the value that it has last set.
var Publishes = cruster.NewWorkflow("Publishes", func(ctx cruster.Context, customer string) ([]any, error) {
	before, ok := stageState.Get(ctx)
	err := errors.Join(
		stageState.Set(ctx, "never seen"), stageState.Set(ctx, "begun"), partsState.Set(ctx, []string{"a"}),
		customerAttr.Set(ctx, customer), amountAttr.Set(ctx, 12.5), vipAttr.Set(ctx, true),
		sinceAttr.Set(ctx, time.Date(2026, time.January, 2, 3, 4, 5, 0, time.UTC)),
		cruster.SetProgress(ctx, 1, 3, "one"))
	if err != nil {
		return nil, err
	}
	if _, err := gate.Await(ctx); err != nil {
		return nil, err
	}
	err = errors.Join(stageState.Set(ctx, "over"), amountAttr.Set(ctx, -1), cruster.SetProgress(ctx, 3, 3, ""))
	partsState.Clear(ctx)
	_, cleared := partsState.Get(ctx)
	vipAttr.Clear(ctx)
	after, _ := stageState.Get(ctx)
	return []any{before, ok, after, cleared}, err
}).Accepts(gate).Publishes(stageState, partsState, amountAttr, customerAttr, sinceAttr, vipAttr)

// PublishesAndFails leaves its published values behind.
var PublishesAndFails = cruster.NewWorkflow(
	"PublishesAndFails",
	func(ctx cruster.Context, _ cruster.None) (int, error) {
		if err := stageState.Set(ctx, "failed"); err != nil {
			return 0, err
		}
		return 0, cruster.Errorf("failed", "it failed as it was told")
	},
).Publishes(stageState)

// PublishesWrong gets values that cannot be published, and publishes none of them; or it fails with the
// first of that.
var PublishesWrong = cruster.NewWorkflow("PublishesWrong", func(ctx cruster.Context, fail bool) ([]Seen, error) {
	long := strings.Repeat("x", 257)
	if fail {
		return nil, customerAttr.Set(ctx, long)
	}
	return []Seen{
		told(customerAttr.Set(ctx, long[1:])),
		told(customerAttr.Set(ctx, long)),
		told(customerAttr.Set(ctx, "two\nlines")),
		told(amountAttr.Set(ctx, math.Inf(1))),
		told(stageState.Set(ctx, strings.Repeat("x", 64<<10))),
		told(cruster.SetProgress(ctx, 1, 2, long)),
		told(cruster.SetProgress(ctx, 1, 2, "two\nlines")),
	}, nil
}).Publishes(stageState, amountAttr, customerAttr)
