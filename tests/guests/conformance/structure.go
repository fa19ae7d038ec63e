package main

import (
	"errors"
	"strconv"
	"time"

	cruster "github.com/cruster/cruster/guest-sdk/go"
)

// headcount counts the coroutines that are inside at the same time.
type headcount struct{ now, most int }

func (c *headcount) enter() { c.now++; c.most = max(c.most, c.now) }
func (c *headcount) leave() { c.now-- }

// outcome tells how something ended.
func outcome(n int, err error) string {
	switch {
	case err == nil:
		return strconv.Itoa(n)
	case errors.Is(err, cruster.ErrTimeout):
		return "too late"
	case errors.Is(err, cruster.ErrCanceled):
		return "cancelled"
	}
	return cruster.ErrorType(err)
}

// Bounded squares numbers, at most two at the same time: all of them, the ones there at a deadline, and the ones before
// the first failure. It then waits for a signal, so that a test can see that it waits for nothing else.
var Bounded = cruster.NewWorkflow("Bounded", func(ctx cruster.Context, _ cruster.None) ([]string, error) {
	var log []string
	var inside headcount
	// A number below zero takes no step, and zero is never done.
	work := func(ctx cruster.Context, n int) (int, error) {
		inside.enter()
		defer inside.leave()
		switch {
		case n == 0:
			return never.Await(ctx)
		case n < 0:
			return n * n, nil
		}
		return square.Call(ctx, n)
	}
	all, err := cruster.Map(ctx, []int{1, 2, 3, 4, 5}, 2, work)
	if err != nil {
		return nil, err
	}
	for _, n := range all {
		log = append(log, outcome(n, nil))
	}
	hurried, cancel := cruster.WithDeadline(ctx, cruster.Now(ctx).Add(time.Millisecond))
	defer cancel()
	for _, s := range cruster.MapSettled(hurried, []int{-1, 0, -2, -3, 0, -4}, 2, work) {
		log = append(log, outcome(s.Value, s.Err))
	}
	_, err = cruster.Map(ctx, []int{-5, 13, 0, -6}, 2, work)
	log = append(log, outcome(0, err), "most "+strconv.Itoa(inside.most), "left "+strconv.Itoa(inside.now))
	signal, err := gate.Await(ctx)
	return append(log, signal), err
}).Accepts(gate, never)

// GivenUp cancels two coroutines: the first waits, the second does something that it does not leave
// half done.
var GivenUp = cruster.NewWorkflow("GivenUp", func(ctx cruster.Context, _ cruster.None) ([]string, error) {
	var log []string
	waiting := cruster.Async(ctx, func(ctx cruster.Context) (int, error) {
		slow := block.Go(ctx, false)
		if err := cruster.Sleep(ctx, time.Hour); err != nil {
			return 0, err
		}
		return slow.Await(ctx)
	})
	shielded := cruster.Async(ctx, func(ctx cruster.Context) (int, error) {
		if err := cruster.Sleep(cruster.Shield(ctx), 5*time.Millisecond); err != nil {
			return 0, err
		}
		log = append(log, "finished")
		return 0, cruster.Sleep(ctx, time.Hour)
	})
	if err := cruster.Sleep(ctx, time.Millisecond); err != nil {
		return nil, err
	}
	waiting.Cancel(ctx)
	log = append(log, outcome(waiting.Await(ctx)))
	shielded.Cancel(ctx)
	log = append(log, outcome(shielded.Await(ctx)))
	signal, err := gate.Await(ctx)
	return append(log, signal), err
}).Accepts(gate)

// Slots has coroutines wait for a semaphore, and send their values through a channel.
var Slots = cruster.NewWorkflow("Slots", func(ctx cruster.Context, _ cruster.None) ([]string, error) {
	var log []string
	var inside headcount
	slots, done := cruster.NewSemaphore(2), cruster.NewChannel[int](1)
	var group cruster.WaitGroup
	for i := range 5 {
		group.Go(ctx, func(ctx cruster.Context) {
			// The third wants both, and the waiters behind it wait for it.
			n := 1
			if i == 2 {
				n = 2
			}
			if err := slots.Acquire(ctx, n); err != nil {
				log = append(log, outcome(0, err))
				return
			}
			defer slots.Release(n)
			inside.enter()
			defer inside.leave()
			err := errors.Join(cruster.Sleep(ctx, time.Millisecond), done.Send(ctx, i))
			if err != nil {
				log = append(log, outcome(0, err))
			}
		})
	}
	cruster.Go(ctx, func(ctx cruster.Context) error {
		defer done.Close()
		return group.Wait(ctx)
	})
	for {
		i, ok, err := done.Receive(ctx)
		if err != nil {
			return nil, err
		}
		if !ok {
			return append(log, "most "+strconv.Itoa(inside.most)), nil
		}
		log = append(log, outcome(i, nil))
	}
})
