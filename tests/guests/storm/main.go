// Command storm is the guest of tests that have thousands of executions at the same time. The same module exists in
// Rust.
package main

import (
	"time"

	cruster "github.com/cruster/cruster/guest-sdk/go"
)

func main() {}

// Gated passes the gate, and returns its request.
var Gated = cruster.NewWorkflow("Gated", func(ctx cruster.Context, n int) (int, error) {
	return pass.Call(ctx, n)
})

// Parent calls a Gated.
var Parent = cruster.NewWorkflow("Parent", func(ctx cruster.Context, n int) (int, error) {
	return Gated.Client().Execute(ctx, n)
})

// early is settled while Sleeper sleeps, which takes no notice.
var early = cruster.NewDeferred[cruster.None]("early")

// Sleeper sleeps until a time, in Unix milliseconds.
var Sleeper = cruster.NewWorkflow("Sleeper", func(ctx cruster.Context, s Sleep) (int, error) {
	return s.N, cruster.Sleep(ctx, time.UnixMilli(s.Until).Sub(cruster.Now(ctx)))
}).Accepts(early)

// Sleep is the request of Sleeper.
type Sleep struct {
	N     int   `json:"n"`
	Until int64 `json:"until"`
}

// pass waits until the gate, a server outside, answers. The host gives a call up after a while; then it is made again.
var pass = cruster.NewActivity("pass", func(ctx *cruster.ActivityContext, n int) (int, error) {
	gate, _ := ctx.Config("gate")
	res, err := ctx.HTTP().Get(gate)
	if err != nil {
		return 0, err
	}
	return n, res.Err()
}, cruster.Retries(1000), cruster.ConstantBackoff(time.Second))
