package main

import (
	cruster "github.com/cruster/cruster/guest-sdk/go"
)

// Endures takes steps until it is interrupted, and then so many more to clean up.
var Endures = cruster.NewWorkflow("Endures", func(ctx cruster.Context, cleanup int) (string, error) {
	for n := 0; ; n++ {
		_, err := square.Call(ctx, n%10)
		if err == nil {
			continue
		}
		for range cleanup {
			if _, err := note.Call(cruster.Shield(ctx), cruster.InterruptReason(ctx)); err != nil {
				return "", err
			}
		}
		return "", err
	}
})

// Lengths tells how long its journal is, at its beginning and after each of n steps, and whether it
// should continue as a new run.
var Lengths = cruster.NewWorkflow("Lengths", func(ctx cruster.Context, n int) ([]any, error) {
	lengths := []any{cruster.HistoryLen(ctx)}
	for i := range n {
		if _, err := square.Call(ctx, i); err != nil {
			return nil, err
		}
		lengths = append(lengths, cruster.HistoryLen(ctx))
	}
	return append(lengths, cruster.ShouldContinueAsNew(ctx)), nil
})
