package main

import (
	"errors"
	"fmt"
	"time"

	cruster "github.com/cruster/cruster/guest-sdk/go"
)

var note = cruster.NewActivity("note", func(_ *cruster.ActivityContext, text string) (string, error) {
	return "noted: " + text, nil
})

// Interruptible waits in several coroutines until it is interrupted, cleans up on a shielded context, and ends as the
// request says.
var Interruptible = cruster.NewWorkflow("Interruptible", func(ctx cruster.Context, end string) ([]string, error) {
	other := cruster.Go(ctx, func(ctx cruster.Context) error { return cruster.Sleep(ctx, time.Hour) })
	_, err := never.Await(ctx)
	if !errors.Is(err, cruster.ErrInterrupted) {
		return nil, cruster.Errorf("unexpected", "not interrupted: %v", err)
	}
	shielded := cruster.Shield(ctx)
	if _, err := other.Await(shielded); !errors.Is(err, cruster.ErrInterrupted) {
		return nil, cruster.Errorf("unexpected", "the other was not interrupted: %v", err)
	}
	if _, err := note.Call(ctx, "not shielded"); !errors.Is(err, cruster.ErrInterrupted) {
		return nil, cruster.Errorf("unexpected", "a step after the interrupt: %v", err)
	}
	text, cleanupErr := note.Call(shielded, cruster.InterruptReason(ctx))
	if cleanupErr != nil {
		return nil, cleanupErr
	}
	if err := cruster.Sleep(shielded, time.Millisecond); err != nil {
		return nil, err
	}
	if end == "as if nothing was" {
		return []string{text}, nil
	}
	return nil, err
}).Accepts(never)

// Unhandled does not handle an interrupt.
var Unhandled = cruster.NewWorkflow("Unhandled", func(ctx cruster.Context, _ cruster.None) (int, error) {
	return never.Await(ctx)
}).Accepts(never)

// InterruptedEarly is interrupted during a shielded wait: the next wait ends at once.
var InterruptedEarly = cruster.NewWorkflow(
	"InterruptedEarly",
	func(ctx cruster.Context, _ cruster.None) ([]any, error) {
		before := cruster.Interrupted(ctx)
		if _, err := gate.Await(cruster.Shield(ctx)); err != nil {
			return nil, err
		}
		err := cruster.Sleep(ctx, time.Hour)
		return []any{
			before, cruster.Interrupted(ctx), cruster.Interrupted(cruster.Shield(ctx)),
			errors.Is(err, cruster.ErrInterrupted),
		}, nil
	},
).Accepts(gate)

// InterruptedWait waits in the given way, and returns the error that ended the wait with its own words in front.
var InterruptedWait = cruster.NewWorkflow("InterruptedWait", func(ctx cruster.Context, what string) (string, error) {
	var err error
	switch what {
	case "sleep":
		err = cruster.Sleep(ctx, time.Hour)
	case "activity":
		_, err = block.Call(ctx, false)
	case "child":
		_, err = Await.Client().WithKeyRaw("of one that is interrupted").Execute(ctx, what)
	case "many":
		_, err = cruster.All(ctx, cruster.Timer(ctx, time.Hour), cruster.Timer(ctx, 2*time.Hour))
	case "coroutine":
		_, err = cruster.Go(ctx, func(ctx cruster.Context) error { return cruster.Sleep(ctx, time.Hour) }).Await(
			cruster.Shield(ctx),
		)
	}
	return "", fmt.Errorf("while waiting: %w", err)
})
