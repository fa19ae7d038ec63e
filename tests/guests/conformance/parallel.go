package main

import (
	"errors"
	"time"

	cruster "github.com/cruster/cruster/guest-sdk/go"
)

var square = cruster.NewActivity("square", func(_ *cruster.ActivityContext, n int) (int, error) {
	if n == 13 {
		return 0, cruster.NonRetryable(cruster.Errorf("unlucky", "%d is unlucky", n))
	}
	return n * n, nil
})

// never is a deferred that is never settled.
var never = cruster.NewDeferred[int]("never")

// All squares n numbers, beginning with from, at the same time.
var All = cruster.NewWorkflow("All", func(ctx cruster.Context, r struct{ From, N int }) (Seen, error) {
	var futures []cruster.Future[int]
	for i := range r.N {
		futures = append(futures, square.Go(ctx, r.From+i))
	}
	results, err := cruster.All(ctx, futures...)
	if err != nil {
		return seen(results, err), nil
	}
	sum := 0
	for i, n := range results {
		if n != (r.From+i)*(r.From+i) {
			return Seen{Text: "a result is not at its place"}, nil
		}
		sum += n
	}
	return seen(sum, nil), nil
})

// First waits for the first of an activity and a deferred that is never settled.
var First = cruster.NewWorkflow("First", func(ctx cruster.Context, _ cruster.None) ([]int, error) {
	i, n, err := cruster.First(ctx, never.Future(ctx), square.Go(ctx, 7))
	return []int{i, n}, err
}).Accepts(never)

// Race waits for an activity and for a timer; the request says which of them wins. It then waits for a signal, so that
// a test can see its other waits.
var Race = cruster.NewWorkflow("Race", func(ctx cruster.Context, winner string) ([]string, error) {
	var log []string
	var loser cruster.Future[int]
	switch winner {
	case "activity":
		n, err := cruster.WithTimeout(ctx, time.Hour, square.Go(ctx, 5))
		if n != 25 || err != nil {
			return nil, err
		}
		log = append(log, "the activity won")
	case "timer":
		loser = block.Go(ctx, false)
		if _, err := cruster.WithTimeout(ctx, time.Millisecond, loser); !errors.Is(err, cruster.ErrTimeout) {
			return nil, cruster.Errorf("unexpected", "not a timeout: %v", err)
		}
		loser.Cancel(ctx)
		if _, err := loser.Await(ctx); !errors.Is(err, cruster.ErrCanceled) {
			return nil, cruster.Errorf("unexpected", "not cancelled: %v", err)
		}
		log = append(log, "the timer won")
	}
	signal, err := gate.Await(ctx)
	return append(log, signal), err
}).Accepts(gate)

// Select takes the first of several cases, in the order of the list if several are ready.
var Select = cruster.NewWorkflow("Select", func(ctx cruster.Context, _ cruster.None) ([]string, error) {
	var log []string
	one, two := square.Go(ctx, 1), square.Go(ctx, 2)
	if _, err := cruster.All(ctx, one, two); err != nil {
		return nil, err
	}
	note := func(what string) func(int, error) { return func(int, error) { log = append(log, what) } }
	err := cruster.Select(
		ctx, cruster.On(never.Future(ctx), note("never")), cruster.On(two, note("two")), cruster.On(one, note("one")),
	)
	if err != nil {
		return nil, err
	}
	err = cruster.Select(
		ctx, cruster.On(never.Future(ctx), note("never")), cruster.After(0, func() { log = append(log, "after") }),
	)
	if err != nil {
		return nil, err
	}
	if err := cruster.Select(ctx); err == nil {
		return nil, cruster.Errorf("unexpected", "a Select without cases must fail")
	}
	return log, nil
}).Accepts(never)

// Nested starts coroutines in coroutines.
var Nested = cruster.NewWorkflow("Nested", func(ctx cruster.Context, depth int) (int, error) {
	return nest(ctx, depth)
})

func nest(ctx cruster.Context, depth int) (int, error) {
	if depth == 0 {
		return square.Call(ctx, 2)
	}
	left := cruster.Async(ctx, func(ctx cruster.Context) (int, error) { return nest(ctx, depth-1) })
	right := cruster.Async(ctx, func(ctx cruster.Context) (int, error) { return nest(ctx, depth-1) })
	both, err := cruster.All(ctx, left, right)
	if err != nil {
		return 0, err
	}
	return both[0] + both[1], nil
}

// Crowd runs n coroutines one after the other, and tells whether they ran in the order in which they were started.
var Crowd = cruster.NewWorkflow("Crowd", func(ctx cruster.Context, n int) (map[string]int, error) {
	order := make([]int, 0, n)
	var all []cruster.Future[cruster.None]
	for i := range n {
		all = append(all, cruster.Go(ctx, func(ctx cruster.Context) error {
			if err := cruster.Sleep(ctx, 0); err != nil {
				return err
			}
			order = append(order, i)
			return nil
		}))
	}
	if _, err := cruster.All(ctx, all...); err != nil {
		return nil, err
	}
	inOrder := 0
	for i, who := range order {
		if i == who {
			inOrder++
		}
	}
	return map[string]int{"ran": len(order), "in order": inOrder}, nil
})

// Shared lets several coroutines await one future.
var Shared = cruster.NewWorkflow("Shared", func(ctx cruster.Context, _ cruster.None) ([]int, error) {
	f := square.Go(ctx, 3)
	wait := func(ctx cruster.Context) (int, error) { return f.Await(ctx) }
	return cruster.All(ctx, cruster.Async(ctx, wait), cruster.Async(ctx, wait), f)
})

// Sleeps sleeps for each of the durations, in nanoseconds, and tells whether the clock advanced by as much.
var Sleeps = cruster.NewWorkflow("Sleeps", func(ctx cruster.Context, durations []int64) ([]bool, error) {
	var out []bool
	for _, d := range durations {
		before := cruster.Now(ctx)
		if err := cruster.Sleep(ctx, time.Duration(d)); err != nil {
			return nil, err
		}
		passed := cruster.Now(ctx).Sub(before)
		out = append(out, passed >= time.Duration(d) && passed >= 0)
	}
	return out, cruster.SleepUntil(ctx, cruster.Now(ctx).Add(-time.Hour))
})

// Due sleeps for each of the durations, in nanoseconds, at the same time, and returns the order in which the sleeps
// ended.
var Due = cruster.NewWorkflow("Due", func(ctx cruster.Context, durations []int64) ([]int, error) {
	order := []int{}
	var all []cruster.Future[cruster.None]
	for i, d := range durations {
		all = append(all, cruster.Go(ctx, func(ctx cruster.Context) error {
			err := cruster.Sleep(ctx, time.Duration(d))
			order = append(order, i)
			return err
		}))
	}
	_, err := cruster.All(ctx, all...)
	return order, err
})

// Groups squares groups of numbers, all groups and all numbers of a group at the same time.
var Groups = cruster.NewWorkflow("Groups", func(ctx cruster.Context, groups [][]int) (Seen, error) {
	var all []cruster.Future[[]int]
	for _, group := range groups {
		all = append(all, cruster.Async(ctx, func(ctx cruster.Context) ([]int, error) {
			var members []cruster.Future[int]
			for _, n := range group {
				members = append(members, square.Go(ctx, n))
			}
			return cruster.All(ctx, members...)
		}))
	}
	return seen(cruster.All(ctx, all...)), nil
})

// Two runs two steps of different types at the same time.
var Two = cruster.NewWorkflow("Two", func(ctx cruster.Context, n int) ([]any, error) {
	squared, noted := square.Go(ctx, n), note.Go(ctx, "two")
	number, err := squared.Await(ctx)
	if err != nil {
		return nil, err
	}
	text, err := noted.Await(ctx)
	return []any{number, text}, err
})

// OrderRequest says whether the steps of Order are activities or deferreds.
type OrderRequest struct {
	By string `json:"by"`
}

// OrderResult is the order in which the steps ended, and their results in the order in which they began.
type OrderResult struct {
	Order  []string `json:"order"`
	Values []string `json:"values"`
}

var left, middle, right = cruster.NewDeferred[string]("left"), cruster.NewDeferred[string](
	"middle",
), cruster.NewDeferred[string]("right")

// Order takes three steps at the same time. The test decides in which order they end.
var Order = cruster.NewWorkflow("Order", func(ctx cruster.Context, r OrderRequest) (OrderResult, error) {
	out := OrderResult{}
	var all []cruster.Future[string]
	for _, d := range []cruster.Deferred[string]{left, middle, right} {
		all = append(all, cruster.Async(ctx, func(ctx cruster.Context) (string, error) {
			wait := d.Await
			if r.By == "activity" {
				wait = func(ctx cruster.Context) (string, error) { return pass.Call(ctx, d.Name()) }
			}
			value, err := wait(ctx)
			out.Order = append(out.Order, d.Name())
			return value, err
		}))
	}
	var err error
	out.Values, err = cruster.All(ctx, all...)
	return out, err
}).Accepts(left, middle, right)

// pass waits until the HTTP server of the test opens a gate.
var pass = cruster.NewActivity("pass", func(ctx *cruster.ActivityContext, gate string) (string, error) {
	url, _ := ctx.Config("outside")
	variant, _ := ctx.Config("variant")
	res, err := ctx.HTTP().Get(url+"/gate",
		cruster.Header{Name: "X-Key", Value: ctx.IdempotencyKey()},
		cruster.Header{Name: "X-Gate", Value: variant + " " + ctx.ExecutionID() + " " + gate})
	if err != nil {
		return "", err
	}
	return "through " + gate, res.Err()
})

// Instant begins things in one turn, and returns the order in which they end: things that are ready
// as they begin, and others that a host has to do.
var Instant = cruster.NewWorkflow("Instant", func(ctx cruster.Context, kinds []string) ([]string, error) {
	if _, err := instant.Resolve(ctx, "there"); err != nil {
		return nil, err
	}
	begin := map[string]func(ctx cruster.Context) error{
		"activity": func(ctx cruster.Context) error { _, err := square.Call(ctx, 2); return err },
		"call": func(ctx cruster.Context) error {
			_, err := First.Client().Execute(ctx, cruster.None{})
			return err
		},
		"deferred": func(ctx cruster.Context) error { _, err := instant.Await(ctx); return err },
		"poll": func(ctx cruster.Context) error {
			_, err := First.Client().Poll(ctx, cruster.ExecutionID(ctx))
			return err
		},
		"sleep": func(ctx cruster.Context) error { return cruster.Sleep(ctx, 0) },
	}
	var order []string
	var all []cruster.Future[cruster.None]
	for _, kind := range kinds {
		all = append(all, cruster.Go(ctx, func(ctx cruster.Context) error {
			err := begin[kind](ctx)
			order = append(order, kind)
			return err
		}))
	}
	_, err := cruster.All(ctx, all...)
	return order, err
}).Accepts(instant)

var instant = cruster.NewDeferred[string]("instant")
