package main

import (
	"errors"
	"time"

	cruster "github.com/cruster/cruster/guest-sdk/go"
)

var (
	farQuery   = cruster.NewQuery[cruster.None, int]("far")
	wordsQuery = cruster.NewQuery[WordsFrom, []string]("words")
	actQuery   = cruster.NewQuery[cruster.None, bool]("act")
	spoilQuery = cruster.NewQuery[cruster.None, int]("spoil")
)

// WordsFrom asks for the words from a place on.
type WordsFrom struct {
	Place int `json:"place"`
}

// Nap sleeps three times, the last time until it is interrupted, and says how often it has.
var Nap = cruster.NewWorkflow("Nap", func(ctx cruster.Context, _ cruster.None) (int, error) {
	naps := 0
	farQuery.Handle(ctx, func(cruster.None) (int, error) { return naps, nil })
	for _, d := range []time.Duration{time.Millisecond, time.Millisecond, time.Hour} {
		err := cruster.Sleep(ctx, d)
		if errors.Is(err, cruster.ErrInterrupted) {
			break
		}
		if err != nil {
			return 0, err
		}
		naps++
	}
	return naps, nil
}).Answers(farQuery)

// Track receives words as Collect does, and answers with them.
var Track = cruster.NewWorkflow("Track", func(ctx cruster.Context, r CollectRequest) ([]string, error) {
	if r.Late {
		if _, err := gate.Await(ctx); err != nil {
			return nil, err
		}
	}
	all := []string{}
	farQuery.Handle(ctx, func(cruster.None) (int, error) { return len(all), nil })
	wordsQuery.Handle(ctx, func(from WordsFrom) ([]string, error) {
		switch {
		case from.Place < 0:
			panic("a place before the first")
		case from.Place > len(all):
			return nil, cruster.Errorf("too_far", "there are %d words", len(all))
		}
		return all[from.Place:], nil
	})
	actQuery.Handle(ctx, func(cruster.None) (bool, error) { return true, cruster.Sleep(ctx, time.Hour) })
	for range r.Words {
		w, err := wordSignal.Receive(ctx)
		if err != nil {
			return nil, err
		}
		all = append(all, w)
	}
	return all, nil
}).Accepts(gate, wordSignal).Answers(farQuery, wordsQuery, actQuery)

// Spoiled answers by changing all that it can reach: nothing of that may last.
var Spoiled = cruster.NewWorkflow("Spoiled", func(ctx cruster.Context, words int) ([]string, error) {
	all := make([]string, 0, 16)
	names := map[string]bool{"a": true, "b": true, "c": true}
	spoilQuery.Handle(ctx, func(cruster.None) (int, error) {
		for name := range names {
			all = append(all, name)
			delete(names, name)
		}
		drawn := cruster.Rand(ctx).Uint64()
		for i := range all {
			all[i] += string(rune('a' + drawn%26))
		}
		return len(all), nil
	})
	for range words {
		w, err := wordSignal.Receive(ctx)
		if err != nil {
			return nil, err
		}
		all = append(all, w)
		// The number is another one if an answer has drawn one before; a replay notices. It is never the unlucky one.
		if _, err := square.Call(ctx, int(100+cruster.Rand(ctx).Uint64()%1000)); err != nil {
			return nil, err
		}
	}
	for _, name := range []string{"a", "b", "c"} {
		if names[name] {
			all = append(all, name)
		}
	}
	return all, nil
}).Accepts(wordSignal).Answers(spoilQuery)
