package tour

import (
	"time"

	cruster "github.com/cruster/cruster/guest-sdk/go"
)

// Techniques of workflows that live long.

type Till struct {
	Cents int64 `json:"cents"`
}

var (
	Tills = cruster.NewStatefulEntity[Till]("Till")
	Put   = cruster.NewOperation(Tills, "put", put)
)

func put(_ *cruster.EntityContext, t *Till, cents int64) (int64, error) {
	t.Cents += cents
	return t.Cents, nil
}

var Move = cruster.NewWorkflow("Move", move)

func move(ctx cruster.Context, cents int64) (int64, error) {
	section, err := cruster.Lock(ctx, Tills.ID("front"), Tills.ID("back"))
	if err != nil {
		return 0, err
	}
	if _, err := Put.On("front").Call(ctx, -cents); err != nil {
		return 0, err
	}
	left, err := Put.On("back").Call(ctx, cents)
	if err != nil {
		return 0, err
	}
	return left, section.Unlock(ctx)
}

var (
	AddItem  = cruster.NewUpdate[Order, int64]("add_item").Validated()
	Stage    = cruster.NewState[string]("stage")
	Customer = cruster.NewAttribute[string]("customer")
)

var Basket = cruster.NewWorkflow("Basket", basket).Takes(AddItem).Publishes(Stage, Customer)

func basket(ctx cruster.Context, customer string) (int64, error) {
	if err := Customer.Set(ctx, customer); err != nil {
		return 0, err
	}
	if err := Stage.Set(ctx, "open"); err != nil {
		return 0, err
	}
	cents := int64(0)
	AddItem.Handle(ctx,
		func(o Order) error {
			if o.Cents < 0 {
				return cruster.Errorf("negative", "it costs %d", o.Cents)
			}
			return nil
		},
		func(ctx cruster.Context, o Order) (int64, error) {
			if _, err := Price.Call(ctx, o.ID); err != nil {
				return 0, err
			}
			cents += o.Cents
			return cents, nil
		})
	if err := cruster.WaitUntil(ctx, func() bool { return cents > 1000 }); err != nil {
		return 0, err
	}
	return cents, cruster.SetProgress(ctx, 1, 1, "paid")
}

var Billing = cruster.NewWorkflow("Billing", bill)

func bill(ctx cruster.Context, month int64) (int64, error) {
	for ; month < 120; month++ {
		if err := cruster.Sleep(ctx, 30*24*time.Hour); err != nil {
			return 0, err
		}
		if cruster.ShouldContinueAsNew(ctx) {
			return 0, cruster.ContinueAsNew(month + 1)
		}
	}
	return month, nil
}

var Nightly = cruster.NewSchedule("nightly", Billing, 1,
	cruster.Cron("0 3 * * *"), cruster.Zone("Europe/Zurich"))
