package main

import (
	"errors"

	cruster "github.com/cruster/cruster/guest-sdk/go"
)

var (
	answer = cruster.NewDeferred[string]("answer")
	gate   = cruster.NewDeferred[string]("gate")
)

// Await waits for the answer.
var Await = cruster.NewWorkflow("Await", func(ctx cruster.Context, _ string) (Seen, error) {
	return seen(answer.Await(ctx)), nil
}, cruster.RawKey(func(key string) string { return key }))

// AwaitLate waits for the gate first, so that the answer may be settled before it
// is awaited.
var AwaitLate = cruster.NewWorkflow("AwaitLate", func(ctx cruster.Context, _ cruster.None) (Seen, error) {
	if _, err := gate.Await(ctx); err != nil {
		return Seen{}, err
	}
	return seen(answer.Await(ctx)), nil
})

// AwaitTwice lets two coroutines wait for the answer, each with its own op.
var AwaitTwice = cruster.NewWorkflow("AwaitTwice", func(ctx cruster.Context, _ cruster.None) ([]string, error) {
	return cruster.All(ctx, cruster.Async(ctx, answer.Await), cruster.Async(ctx, answer.Await))
})

// AwaitNumber awaits a number under the name of the answer: the value may have
// another type.
var AwaitNumber = cruster.NewWorkflow("AwaitNumber", func(ctx cruster.Context, _ cruster.None) (Seen, error) {
	return seen(cruster.NewDeferred[int]("answer").Await(ctx)), nil
})

// ResolveOwn settles its own deferred, twice, and then awaits it.
var ResolveOwn = cruster.NewWorkflow("ResolveOwn", func(ctx cruster.Context, reject bool) ([]any, error) {
	settle := func() (bool, error) { return answer.Resolve(ctx, "mine") }
	if reject {
		settle = func() (bool, error) { return answer.Reject(ctx, cruster.Errorf("no", "rejected by itself")) }
	}
	first, err := settle()
	if err != nil {
		return nil, err
	}
	second, err := answer.Resolve(ctx, "too late")
	if err != nil {
		return nil, err
	}
	return []any{first, second, seen(answer.Await(ctx))}, nil
})

// ResolveOther settles the answer of another execution.
var ResolveOther = cruster.NewWorkflow("ResolveOther", func(ctx cruster.Context, execution string) ([]Seen, error) {
	first := seen(answer.ResolveIn(ctx, execution, "from afar"))
	second := seen(answer.RejectIn(ctx, execution, errors.New("too late")))
	return []Seen{first, second}, nil
})

// AwaitAnything returns the value of the answer, of any type.
var AwaitAnything = cruster.NewWorkflow("AwaitAnything", func(ctx cruster.Context, _ cruster.None) (any, error) {
	return cruster.NewDeferred[any]("answer").Await(ctx)
})
