package main

import (
	"fmt"
	"os"
	"time"

	cruster "github.com/cruster/cruster/guest-sdk/go"
)

// Misuse takes one step and then does something that a workflow must not do.
var Misuse = cruster.NewWorkflow("Misuse", func(ctx cruster.Context, what string) (string, error) {
	if _, err := square.Call(ctx, 2); err != nil {
		return "", err
	}
	switch what {
	case "blocking sleep":
		time.Sleep(time.Second)
	case "panic":
		panic("the workflow panicked as it was told")
	case "panic in a coroutine":
		_, err := cruster.Go(ctx, func(cruster.Context) error { panic("the coroutine panicked as it was told") }).Await(
			ctx,
		)
		return "", err
	case "exit":
		os.Exit(4)
	case "loop":
		for spins != 1 {
			spins += 2
		}
	case "hog":
		for {
			hoard = append(hoard, make([]byte, 1<<20))
		}
	case "recurse":
		return fmt.Sprint(deeper(1)), nil
	case "deadlock":
		<-make(chan int)
	case "deadlock of two":
		var first, second cruster.Future[cruster.None]
		first = cruster.Go(ctx, func(ctx cruster.Context) error {
			_, err := second.Await(ctx)
			return err
		})
		second = cruster.Go(ctx, func(ctx cruster.Context) error {
			_, err := first.Await(ctx)
			return err
		})
		_, err := cruster.All(ctx, first, second)
		return "", err
	case "deadlock by channel":
		c := cruster.NewChannel[int](0)
		waiting := cruster.Go(ctx, func(ctx cruster.Context) error { _, _, err := c.Receive(ctx); return err })
		if _, _, err := c.Receive(ctx); err != nil {
			return "", err
		}
		_, err := waiting.Await(ctx)
		return "", err
	case "goroutine":
		done := make(chan error)
		go func() { done <- cruster.Sleep(ctx, 0) }()
		// The goroutine runs while the workflow waits for a step.
		_, err := square.Call(ctx, 3)
		return "", err
	case "empty context":
		return "", cruster.Sleep(cruster.Context{}, 0)
	}
	return "survived", nil
})

// Channels shows that goroutines and channels work as long as the goroutines make no durable calls.
var Channels = cruster.NewWorkflow("Channels", func(ctx cruster.Context, n int) (int, error) {
	numbers, sums := make(chan int), make(chan int)
	go func() {
		sum := 0
		for i := range numbers {
			sum += i
		}
		sums <- sum
	}()
	for i := range n {
		squared, err := square.Call(ctx, i)
		if err != nil {
			return 0, err
		}
		numbers <- squared
	}
	close(numbers)
	return <-sums, nil
})
