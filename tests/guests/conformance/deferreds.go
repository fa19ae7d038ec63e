package main

import (
	"errors"
	"time"

	cruster "github.com/cruster/cruster/guest-sdk/go"
)

var (
	answer = cruster.NewDeferred[string]("answer")
	gate   = cruster.NewDeferred[string]("gate")
	// anything is an answer of any type.
	anything = cruster.NewDeferred[any]("answer")

	decision  = cruster.NewDeferred[Decision]("decision")
	approvals = cruster.NewDynamicDeferred[Decision]("approve-")
)

// Decision is the value of some promises.
type Decision struct {
	Approved bool   `json:"approved"`
	Note     string `json:"note,omitempty"`
}

// Await waits for the answer.
var Await = cruster.NewWorkflow("Await", func(ctx cruster.Context, _ string) (Seen, error) {
	return seen(answer.Await(ctx)), nil
}, cruster.RawKey(func(key string) string { return key })).Accepts(answer)

// AwaitLate waits for the gate first, so that the answer may be settled before it is awaited.
var AwaitLate = cruster.NewWorkflow("AwaitLate", func(ctx cruster.Context, _ cruster.None) (Seen, error) {
	if _, err := gate.Await(ctx); err != nil {
		return Seen{}, err
	}
	return seen(answer.Await(ctx)), nil
}).Accepts(answer, gate)

// AwaitTwice lets two coroutines wait for the answer, each with its own op.
var AwaitTwice = cruster.NewWorkflow("AwaitTwice", func(ctx cruster.Context, _ cruster.None) ([]string, error) {
	return cruster.All(ctx, cruster.Async(ctx, answer.Await), cruster.Async(ctx, answer.Await))
}).Accepts(answer)

// AwaitNumber awaits a number under the name of the answer: the value may have another type.
var AwaitNumber = cruster.NewWorkflow("AwaitNumber", func(ctx cruster.Context, _ cruster.None) (Seen, error) {
	return seen(cruster.NewDeferred[int]("answer").Await(ctx)), nil
}).Accepts(anything)

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
}).Accepts(answer)

// ResolveOther settles the answer of another execution.
var ResolveOther = cruster.NewWorkflow("ResolveOther", func(ctx cruster.Context, execution string) ([]Seen, error) {
	first := seen(answer.ResolveIn(ctx, execution, "from afar"))
	second := seen(answer.RejectIn(ctx, execution, errors.New("too late")))
	return []Seen{first, second}, nil
})

// AwaitAnything returns the value of the answer, of any type.
var AwaitAnything = cruster.NewWorkflow("AwaitAnything", func(ctx cruster.Context, _ cruster.None) (any, error) {
	return anything.Await(ctx)
}).Accepts(anything)

// AwaitTyped waits for a decision, and for one whose name it makes.
var AwaitTyped = cruster.NewWorkflow("AwaitTyped", func(ctx cruster.Context, by string) ([]Decision, error) {
	first, err := decision.Await(ctx)
	if err != nil {
		return nil, err
	}
	second, err := approvals.Named(by).Await(ctx)
	return []Decision{first, second}, err
}).Accepts(decision, approvals)

// ResolveTyped settles the decisions of another execution, first with unacceptable values.
var ResolveTyped = cruster.NewWorkflow("ResolveTyped", func(ctx cruster.Context, execution string) ([]Seen, error) {
	return []Seen{
		seen(cruster.NewDeferred[Decision]("decison").ResolveIn(ctx, execution, Decision{})),
		seen(cruster.NewDeferred[Decision]("approve-").RejectIn(ctx, execution, errors.New("no"))),
		seen(cruster.NewDeferred[bool]("decision").ResolveIn(ctx, execution, true)),
		seen(cruster.NewDeferred[map[string]bool]("decision").ResolveIn(ctx, execution, map[string]bool{
			"aproved": true,
		})),
		seen(cruster.NewDeferred[map[string]string]("approve-bob").ResolveIn(ctx, execution, map[string]string{
			"note": "x",
		})),
		seen(decision.ResolveIn(ctx, execution, Decision{Approved: true})),
		seen(approvals.Named("bob").ResolveIn(ctx, execution, Decision{Note: "no"})),
	}, nil
})

// AwaitUndeclared uses a promise that it does not accept.
var AwaitUndeclared = cruster.NewWorkflow("AwaitUndeclared", func(ctx cruster.Context, settle bool) (string, error) {
	if err := cruster.Sleep(ctx, time.Millisecond); err != nil {
		return "", err
	}
	if settle {
		_, err := answer.Resolve(ctx, "mine")
		return "", err
	}
	return answer.Await(ctx)
})
