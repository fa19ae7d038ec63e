package main

import (
	"os"
	"time"

	cruster "github.com/cruster/cruster/guest-sdk/go"
)

// Sequence takes n steps, one after the other, and returns their results.
var Sequence = cruster.NewWorkflow("Sequence", func(ctx cruster.Context, n int) ([]int, error) {
	out := []int{}
	sum := 0
	for i := range n {
		var err error
		if sum, err = add.Call(ctx, []int{sum, i}); err != nil {
			return nil, err
		}
		out = append(out, sum)
	}
	return out, nil
})

var steps = cruster.NewGroup("Steps", cruster.Retries(2), cruster.ConstantBackoff(time.Millisecond))

var add = cruster.NewGroupActivity(steps, "add", func(_ *cruster.ActivityContext, n []int) (int, error) {
	return n[0] + n[1], nil
})

// RetryRequest describes an activity that fails and how it is retried.
type RetryRequest struct {
	// Failures is how many attempts fail.
	Failures int     `json:"failures"`
	Retries  int     `json:"retries"`
	Backoff  string  `json:"backoff,omitempty"`
	Jitter   float64 `json:"jitter,omitempty"`
	// Final marks the failures as not retryable.
	Final bool `json:"final,omitempty"`
}

// Retry calls an activity that fails some times; its result is the number of the attempt that succeeded.
var Retry = cruster.NewWorkflow("Retry", func(ctx cruster.Context, r RetryRequest) (Seen, error) {
	backoff := cruster.ExponentialBackoff(time.Millisecond)
	if r.Backoff == "constant" {
		backoff = cruster.ConstantBackoff(time.Millisecond)
	}
	n, err := flaky.With(cruster.Retries(r.Retries), backoff, cruster.Jitter(r.Jitter)).Call(ctx, r)
	return seen(n, err), nil
})

// Exhaust does not handle the error of its activity.
var Exhaust = cruster.NewWorkflow("Exhaust", func(ctx cruster.Context, r RetryRequest) (int, error) {
	return flaky.With(cruster.Retries(r.Retries), cruster.ConstantBackoff(time.Millisecond)).Call(ctx, r)
})

var flaky = cruster.NewActivity("flaky", func(ctx *cruster.ActivityContext, r RetryRequest) (int, error) {
	if ctx.Attempt() > r.Failures {
		return ctx.Attempt(), nil
	}
	var err error = cruster.Errorf("flaky", "attempt %d failed", ctx.Attempt())
	if r.Final {
		err = cruster.NonRetryable(err)
	}
	return 0, err
})

// Idempotent tells whether the attempts of one step share an idempotency key, and whether two steps do not.
var Idempotent = cruster.NewWorkflow("Idempotent", func(ctx cruster.Context, _ cruster.None) (map[string]bool, error) {
	_, err := tellKey.With(cruster.Retries(1), cruster.ConstantBackoff(time.Millisecond)).Call(ctx, 2)
	first, _ := cruster.Details[[]string](err)
	second, _ := tellKey.Call(ctx, 0)
	third, _ := tellKey.Call(ctx, 0)
	return map[string]bool{
		"failed with its key": len(first) == 2 && first[0] == first[1] && first[0] != "",
		"steps differ":        second != third && len(first) == 2 && second != first[0],
	}, nil
})

// Deadline tells whether an activity knows when its attempt ends.
var Deadline = cruster.NewWorkflow("Deadline", func(ctx cruster.Context, _ cruster.None) (bool, error) {
	return deadline.With(cruster.Timeout(time.Hour)).Call(ctx, cruster.None{})
})

var deadline = cruster.NewActivity("deadline", func(ctx *cruster.ActivityContext, _ cruster.None) (bool, error) {
	at, is := ctx.Deadline()
	left := time.Until(at)
	return is && left > 30*time.Minute && left <= time.Hour, nil
})

// lastKey is still set in a later attempt only if instances are shared.
var lastKey string

var tellKey = cruster.NewActivity("tellKey", func(ctx *cruster.ActivityContext, failures int) (string, error) {
	if lastKey != "" {
		return "", cruster.NonRetryable(cruster.Errorf("leak", "the instance was used before"))
	}
	lastKey = ctx.IdempotencyKey()
	if ctx.Attempt() <= failures {
		return "", cruster.WithDetails(cruster.Errorf("keyed", "failed"), []string{lastKey, ctx.IdempotencyKey()})
	}
	return lastKey, nil
})

// Block calls an activity that blocks; with Once only its first attempt does.
var Block = cruster.NewWorkflow("Block", func(ctx cruster.Context, once bool) (Seen, error) {
	if once {
		n, err := block.With(
			cruster.Timeout(time.Second), cruster.Retries(20), cruster.ConstantBackoff(time.Millisecond),
		).Call(ctx, true)
		return seen(n > 1, err), nil
	}
	_, err := block.With(
		cruster.Timeout(30*time.Millisecond), cruster.Retries(1), cruster.ConstantBackoff(time.Millisecond),
	).Call(ctx, false)
	return seen(nil, err), nil
})

var block = cruster.NewActivity("block", func(ctx *cruster.ActivityContext, once bool) (int, error) {
	if !once || ctx.Attempt() == 1 {
		time.Sleep(time.Hour)
	}
	return ctx.Attempt(), nil
})

// Crash calls an activity that crashes.
var Crash = cruster.NewWorkflow("Crash", func(ctx cruster.Context, how string) (Seen, error) {
	timeout := time.Minute
	if how == "loop" {
		timeout = 100 * time.Millisecond
	}
	n, err := crash.With(cruster.Timeout(timeout), cruster.Retries(1), cruster.ConstantBackoff(time.Millisecond)).Call(
		ctx, how,
	)
	return seen(n, err), nil
})

var (
	hoard [][]byte
	spins int
)

var crash = cruster.NewActivity("crash", func(ctx *cruster.ActivityContext, how string) (int, error) {
	switch how {
	case "panic":
		panic("told to")
	case "panic once":
		if ctx.Attempt() == 1 {
			panic("told to, once")
		}
	case "exit":
		os.Exit(3)
	case "loop", "loop for long":
		for spins != 1 {
			spins += 2
		}
	case "hog":
		for {
			hoard = append(hoard, make([]byte, 1<<20))
		}
	case "recurse":
		return deeper(1), nil
	case "nil":
		var p *Seen
		return len(p.Code), nil
	}
	return ctx.Attempt(), nil
})

// deeper has large stack frames, so that the memory is used up quickly.
//
//go:noinline
func deeper(n int) int {
	var frame [8 << 10]byte
	frame[n%len(frame)] = 1
	if n == 0 {
		return 0
	}
	return deeper(n+1) + int(frame[0])
}
