// Command greedy is the guest of tests in which one tenant wants all of a host: its cores, or its memory.
package main

import (
	"time"

	cruster "github.com/cruster/cruster/guest-sdk/go"
)

func main() {}

// Spin has an activity that never ends.
var Spin = cruster.NewWorkflow("Spin", func(ctx cruster.Context, n int) (int, error) {
	return spin.Call(ctx, n)
})

var spin = cruster.NewActivity("spin", func(_ *cruster.ActivityContext, n int) (int, error) {
	for {
		n++
	}
})

// Count counts to a number in activities.
var Count = cruster.NewWorkflow("Count", func(ctx cruster.Context, n int) (sum int, err error) {
	for range n {
		if sum, err = next.Call(ctx, sum); err != nil {
			return 0, err
		}
	}
	return sum, nil
})

var next = cruster.NewActivity("next", func(_ *cruster.ActivityContext, n int) (int, error) { return n + 1, nil })

// Counter is an entity that counts.
var Counter = cruster.NewStatefulEntity[int]("Counter")

// Add adds to a counter.
var Add = cruster.NewOperation(Counter, "add", func(_ *cruster.EntityContext, n *int, by int) (int, error) {
	*n += by
	return *n, nil
})

// Hold keeps its input until the gate, a server outside, answers; then it returns the length.
var Hold = cruster.NewWorkflow("Hold", func(ctx cruster.Context, text string) (int, error) {
	if _, err := pass.Call(ctx, cruster.None{}); err != nil {
		return 0, err
	}
	return len(text), nil
})

// pass waits until the gate answers. The host gives a call up after a while; then it is made
// again.
var pass = cruster.NewActivity("pass", func(ctx *cruster.ActivityContext, _ cruster.None) (cruster.None, error) {
	gate, _ := ctx.Config("gate")
	res, err := ctx.HTTP().Get(gate)
	if err != nil {
		return cruster.None{}, err
	}
	return cruster.None{}, res.Err()
}, cruster.Retries(1000), cruster.ConstantBackoff(time.Second))

// Before and After are texts that a Gather is settled with.
var (
	Before = cruster.NewDeferred[string]("before")
	After  = cruster.NewDeferred[string]("after")
)

// Gather awaits a text, passes the gate, awaits another text, and returns the length of both.
var Gather = cruster.NewWorkflow("Gather", func(ctx cruster.Context, _ cruster.None) (int, error) {
	before, err := Before.Await(ctx)
	if err != nil {
		return 0, err
	}
	if _, err := pass.Call(ctx, cruster.None{}); err != nil {
		return 0, err
	}
	after, err := After.Await(ctx)
	return len(before) + len(after), err
}).Accepts(Before, After)
