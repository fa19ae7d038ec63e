// Command followed is a module whose workflow logs and has its activities log while tests follow it.
package main

import (
	cruster "github.com/cruster/cruster/guest-sdk/go"
)

var gate = cruster.NewDeferred[string]("gate")

var say = cruster.NewActivity("say", func(ctx *cruster.ActivityContext, word string) (string, error) {
	ctx.Logger().Warn("saying " + word)
	return word, nil
})

// Later says something, waits for the gate, logs, says something else, and continues as often as it was told to.
var Later = cruster.NewWorkflow("Later", func(ctx cruster.Context, runs int) (string, error) {
	if _, err := say.Call(ctx, "first"); err != nil {
		return "", err
	}
	if _, err := gate.Await(ctx); err != nil {
		return "", err
	}
	cruster.Logger(ctx).Info("through the gate")
	word, err := say.Call(ctx, "second")
	if err != nil || runs <= 1 {
		return word, err
	}
	return "", cruster.ContinueAsNew(runs - 1)
}).Accepts(gate)

func main() {}
