package main

import (
	"errors"
	"time"

	cruster "github.com/cruster/cruster/guest-sdk/go"
)

var (
	wordSignal  = cruster.NewSignal[string]("word")
	countSignal = cruster.NewSignal[int64]("count")
)

// Collect receives as many words as it is asked to, behind the gate if it is asked to wait.
var Collect = cruster.NewWorkflow("Collect", func(ctx cruster.Context, r CollectRequest) ([]string, error) {
	if r.Late {
		if _, err := gate.Await(ctx); err != nil {
			return nil, err
		}
	}
	var all []string
	for range r.Words {
		w, err := wordSignal.Receive(ctx)
		if err != nil {
			return nil, err
		}
		all = append(all, w)
	}
	return all, nil
}).Accepts(gate, wordSignal)

// CollectRequest says how many words to collect.
type CollectRequest struct {
	Words int  `json:"words"`
	Late  bool `json:"late,omitempty"`
}

// CollectTwo receives words and counts by turns, and tells which came.
var CollectTwo = cruster.NewWorkflow("CollectTwo", func(ctx cruster.Context, n int) ([]any, error) {
	var all []any
	for range n {
		w, c := wordSignal.Future(ctx), countSignal.Future(ctx)
		err := cruster.Select(ctx,
			cruster.On(w, func(v string, err error) { all = append(all, v) }),
			cruster.On(c, func(v int64, err error) { all = append(all, v) }))
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}).Accepts(wordSignal, countSignal)

// CollectApart has two tasks receive words: each gets its own.
var CollectApart = cruster.NewWorkflow("CollectApart", func(ctx cruster.Context, _ cruster.None) ([]string, error) {
	return cruster.All(ctx, cruster.Async(ctx, wordSignal.Receive), cruster.Async(ctx, wordSignal.Receive))
}).Accepts(wordSignal)

// Impatient gives up on a word, and receives it all the same when it asks again.
var Impatient = cruster.NewWorkflow("Impatient", func(ctx cruster.Context, _ cruster.None) ([]string, error) {
	var all []string
	if _, err := cruster.WithTimeout(
		ctx, time.Millisecond, wordSignal.Future(ctx),
	); !errors.Is(err, cruster.ErrTimeout) {
		return nil, cruster.Errorf("unexpected", "no timeout: %v", err)
	}
	if _, err := gate.Await(ctx); err != nil {
		return nil, err
	}
	for range 2 {
		w, err := wordSignal.Receive(ctx)
		if err != nil {
			return nil, err
		}
		all = append(all, w)
	}
	return all, nil
}).Accepts(gate, wordSignal)

// InterruptedReceive waits for a word until it is interrupted, and then for the last one.
var InterruptedReceive = cruster.NewWorkflow(
	"InterruptedReceive",
	func(ctx cruster.Context, _ cruster.None) (string, error) {
		if _, err := wordSignal.Receive(ctx); !errors.Is(err, cruster.ErrInterrupted) {
			return "", cruster.Errorf("unexpected", "not interrupted: %v", err)
		}
		return wordSignal.Receive(cruster.Shield(ctx))
	},
).Accepts(wordSignal)

// Tell sends words to another execution.
var Tell = cruster.NewWorkflow("Tell", func(ctx cruster.Context, execution string) ([]Seen, error) {
	var all []Seen
	for _, text := range []string{"one", "two"} {
		all = append(all, told(wordSignal.Send(ctx, execution, text)))
	}
	return append(
		all, told(countSignal.Send(ctx, execution, 3)), told(wordSignal.Send(ctx, "conformance/Collect/missing", "x")),
	), nil
})

// TellItself sends itself a word.
var TellItself = cruster.NewWorkflow("TellItself", func(ctx cruster.Context, _ cruster.None) (string, error) {
	if err := wordSignal.Send(ctx, cruster.ExecutionID(ctx), "to myself"); err != nil {
		return "", err
	}
	return wordSignal.Receive(ctx)
}).Accepts(wordSignal)

func told(err error) Seen { return seen(err == nil, err) }
