// Command load is the guest of the benchmark. Its steps do next to nothing, so that the host is measured. The
// guest in rust/ does the same.
package main

import (
	"strconv"
	"time"

	"github.com/cruster/cruster/bench/kernel"
	cruster "github.com/cruster/cruster/guest-sdk/go"
)

// Request is the request of all workflows here.
type Request struct {
	// Run is the key of the execution.
	Run string `json:"run"`
	// N is how many steps to take, or how much to compute.
	N int64 `json:"n"`
	// Due is when a sleeper is to wake, in milliseconds since 1970.
	Due int64 `json:"due"`
}

func key(r Request) string { return r.Run }

// Sequence takes N steps one after the other and adds up their results.
var Sequence = cruster.NewWorkflow("Sequence", sequence, cruster.RawKey(key))

func sequence(ctx cruster.Context, req Request) (int64, error) {
	sum := int64(0)
	for i := range req.N {
		n, err := Step.Call(ctx, i)
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
}

// Parallel takes N steps at once and adds up their results.
var Parallel = cruster.NewWorkflow("Parallel", parallel, cruster.RawKey(key))

func parallel(ctx cruster.Context, req Request) (int64, error) {
	futures := make([]cruster.Future[int64], req.N)
	for i := range futures {
		futures[i] = Step.Go(ctx, int64(i))
	}
	results, err := cruster.All(ctx, futures...)
	sum := int64(0)
	for _, n := range results {
		sum += n
	}
	return sum, err
}

// Sleeper sleeps until Due, and returns the real time after it, in microseconds.
var Sleeper = cruster.NewWorkflow("Sleeper", sleeper, cruster.RawKey(key))

func sleeper(ctx cruster.Context, req Request) (int64, error) {
	if err := cruster.SleepUntil(ctx, time.UnixMilli(req.Due)); err != nil {
		return 0, err
	}
	return Clock.Call(ctx, 0)
}

// Parent calls a Sleeper, and returns its result.
var Parent = cruster.NewWorkflow("Parent", parent, cruster.RawKey(key))

func parent(ctx cruster.Context, req Request) (int64, error) {
	req.Run += "-child"
	return Sleeper.Client().Execute(ctx, req)
}

// Waiter waits for Settled and Signalled.
var (
	Settled   = cruster.NewDeferred[int64]("settled")
	Signalled = cruster.NewSignal[int64]("signalled")
)

// Waiter takes N steps, then waits for a deferred or a signal, and returns its value.
var Waiter = cruster.NewWorkflow("Waiter", waiter, cruster.RawKey(key)).Accepts(Settled, Signalled)

func waiter(ctx cruster.Context, req Request) (int64, error) {
	if _, err := sequence(ctx, req); err != nil {
		return 0, err
	}
	_, value, err := cruster.First(ctx, Settled.Future(ctx), Signalled.Future(ctx))
	return value, err
}

// Counter is an entity that counts.
var Counter = cruster.NewStatefulEntity[int64]("Counter")

// Add adds to a counter, and Get reads it.
var (
	Add = cruster.NewOperation(Counter, "add", func(_ *cruster.EntityContext, count *int64, n int64) (int64, error) {
		*count += n
		return *count, nil
	})
	Get = cruster.NewReadOnly(Counter, "get", func(_ *cruster.ReadContext, count int64, _ cruster.None) (int64, error) {
		return count, nil
	})
)

// MoveRequest is the request of Move.
type MoveRequest struct {
	Run  string `json:"run"`
	From string `json:"from"`
	To   string `json:"to"`
}

// Move moves one from a counter to another while it holds both, and returns the new value of the second.
var Move = cruster.NewWorkflow("Move", move, cruster.RawKey(func(req MoveRequest) string { return req.Run }))

func move(ctx cruster.Context, req MoveRequest) (int64, error) {
	if _, err := cruster.Lock(ctx, Counter.ID(req.From), Counter.ID(req.To)); err != nil {
		return 0, err
	}
	if _, err := Add.On(req.From).Call(ctx, -1); err != nil {
		return 0, err
	}
	return Add.On(req.To).Call(ctx, 1) // the end releases both
}

// Echo is an entity without a state.
var Echo = cruster.NewEntity("Echo", cruster.Concurrency(64))

// EchoNumber returns its input, and KeptNumber too, having been saved first.
var (
	EchoNumber = cruster.NewRPC(Echo, "echo", func(_ *cruster.RPCContext, n int64) (int64, error) { return n, nil })
	KeptNumber = cruster.NewRPC(
		Echo, "kept", func(_ *cruster.RPCContext, n int64) (int64, error) { return n, nil }, cruster.Persisted(),
	)
)

// Compute has one step, which computes.
var Compute = cruster.NewWorkflow("Compute", compute, cruster.RawKey(key))

func compute(ctx cruster.Context, req Request) (string, error) { return Kernel.Call(ctx, req.N) }

// Step returns its number.
var Step = cruster.NewActivity("step", func(_ *cruster.ActivityContext, n int64) (int64, error) { return n, nil })

// Clock returns the real time, in microseconds since 1970.
var Clock = cruster.NewActivity("clock", func(*cruster.ActivityContext, int64) (int64, error) {
	return time.Now().UnixMicro(), nil
})

// Kernel computes, and returns its checksum and the nanoseconds that it took.
var Kernel = cruster.NewActivity("kernel", func(_ *cruster.ActivityContext, rounds int64) (string, error) {
	start := time.Now()
	sum := kernel.Sum(int(rounds))
	return strconv.FormatUint(sum, 10) + " " + strconv.FormatInt(time.Since(start).Nanoseconds(), 10), nil
})

func main() {}
