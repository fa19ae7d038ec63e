package main

import (
	"context"
	"time"
)

// An operation is a workflow to run. The guest and the adapters have the same kinds: Sequence and Parallel take N
// steps and return the sum of their numbers, Sleeper sleeps until Due (milliseconds since 1970), takes a step that
// reads the clock, and returns it in microseconds. See kindAdd for the exception.
type operation struct {
	Kind string `json:"kind"`
	Key  string `json:"key"`
	N    int    `json:"n"`
	Due  int64  `json:"due"`
	// Object is the counter of an Add.
	Object string `json:"object"`
}

// kindAdd adds N to the counter Object, which has a state, and returns the new value. It is no workflow: targets
// execute it.
const kindAdd = "Add"

// A target is a system that runs, on a store that was empty when it started.
type target interface {
	// start returns when the operation is durable.
	start(ctx context.Context, op operation) error
	// wait returns the result of an operation that was started.
	wait(ctx context.Context, op operation) (int64, error)
	// execute is start and wait in one, in the way the system's users do it. It returns how long that took for the
	// user, without the way to an adapter.
	execute(ctx context.Context, op operation) (int64, time.Duration, error)
	// pids are the processes of the system, without the processes of Postgres.
	pids() []int
	// commits counts the transactions of the system so far; ok says whether it can.
	commits(ctx context.Context) (n float64, ok bool, err error)
	close() error
}

// sum is the result of n steps that return their numbers.
func sum(n int) int64 { return int64(n) * int64(n-1) / 2 }
