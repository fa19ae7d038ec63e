// Command two is version two of a deployment: its workflow waits for a signal and then tells its version, and the
// configured value.
package main

import cruster "github.com/cruster/cruster/guest-sdk/go"

const version = "two"

var signal = cruster.NewDeferred[bool]("signal")

var setting = cruster.NewActivity("setting", func(ctx *cruster.ActivityContext, _ cruster.None) (string, error) {
	value, _ := ctx.Config("setting")
	return value, nil
})

// Report is the workflow of both versions.
var Report = cruster.NewWorkflow("Report", func(ctx cruster.Context, _ string) (string, error) {
	if _, err := signal.Await(ctx); err != nil {
		return "", err
	}
	value, err := setting.Call(ctx, cruster.None{})
	return version + " " + value, err
}).Accepts(signal)

func main() {}
