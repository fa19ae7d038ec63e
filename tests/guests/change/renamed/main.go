// Command renamed is a version of package change's workflow, by itself: its charge is called take.
package main

import cruster "github.com/cruster/cruster/guest-sdk/go"

type args struct {
	Amount int    `msgpack:"amount"`
	Order  string `msgpack:"order"`
	Step   string `msgpack:"step"`
}

func step(name string) *cruster.Activity[args, string] {
	return cruster.NewActivity(name, func(ctx *cruster.ActivityContext, _ args) (string, error) {
		return ctx.IdempotencyKey(), nil
	})
}

var (
	reserve = step("reserve")
	take    = step("take")

	// Order is the workflow.
	Order = cruster.NewWorkflow("Order", func(ctx cruster.Context, order string) (string, error) {
		if _, err := reserve.Call(ctx, args{Order: order, Step: "reserve"}); err != nil {
			return "", err
		}
		return take.Call(ctx, args{Amount: 5, Order: order, Step: "charge"})
	}, cruster.RawKey(func(order string) string { return order }))
)

func main() {}
