package main

import (
	"time"

	cruster "github.com/cruster/cruster/guest-sdk/go"
)

var (
	addUpdate    = cruster.NewUpdate[int64, int64]("add").Validated()
	slowUpdate   = cruster.NewUpdate[SlowRequest, int64]("slow")
	finishUpdate = cruster.NewUpdate[cruster.None, string]("finish")
)

// SlowRequest says what to add, and what to wait for: the gate, or a sleep.
type SlowRequest struct {
	Add  int64  `json:"add"`
	Wait string `json:"wait"`
}

var sleeps = map[string]time.Duration{"a moment": time.Millisecond, "an hour": time.Hour}

// Updated adds numbers on request until it is told to finish, behind the gate if it is asked to
// wait, and returns the sums in their order.
var Updated = cruster.NewWorkflow("Updated", func(ctx cruster.Context, late bool) ([]int64, error) {
	if late {
		if _, err := gate.Await(ctx); err != nil {
			return nil, err
		}
	}
	sum, sums, finished := int64(0), []int64{}, false
	add := func(n int64) int64 {
		sum += n
		sums = append(sums, sum)
		return sum
	}
	addUpdate.Handle(ctx,
		func(n int64) error {
			if n < 0 {
				return cruster.Errorf("negative", "%d is below zero", n)
			}
			return nil
		},
		func(_ cruster.Context, n int64) (int64, error) {
			if n > 1000 {
				return 0, cruster.Errorf("too_much", "%d is too much", n)
			}
			return add(n), nil
		})
	slowUpdate.Handle(ctx, func(ctx cruster.Context, r SlowRequest) (int64, error) {
		wait := func() error { return cruster.Sleep(ctx, sleeps[r.Wait]) }
		if r.Wait == "gate" {
			wait = func() error { _, err := gate.Await(ctx); return err }
		}
		if err := wait(); err != nil {
			return 0, err
		}
		return add(r.Add), nil
	})
	finishUpdate.Handle(ctx, func(cruster.Context, cruster.None) (string, error) {
		finished = true
		return "bye", nil
	})
	return sums, cruster.WaitUntil(ctx, func() bool { return finished })
}).Accepts(gate).Takes(addUpdate, slowUpdate, finishUpdate)
