package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	cruster "github.com/cruster/cruster/guest-sdk/go"
)

// failure makes an error of the given kind. The modules in other languages make it with the same message.
func failure(how string) error {
	declined := cruster.WithDetails(cruster.Errorf(
		"card_declined", "the card was declined: %s", how,
	), map[string]int{"cents": 150})
	switch how {
	case "plain":
		return errors.New("plainly wrong")
	case "plain in words":
		return fmt.Errorf("while paying: %w", errors.New("plainly wrong"))
	case "in words":
		return fmt.Errorf("while paying: %w", declined)
	case "in words twice":
		return fmt.Errorf("order 7: %w", fmt.Errorf("while paying: %w", declined))
	case "final":
		return cruster.NonRetryable(declined)
	case "final in words":
		return cruster.NonRetryable(fmt.Errorf("while paying: %w", declined))
	case "without a type":
		return cruster.Errorf("", "an untyped error")
	case "without words":
		return cruster.Errorf("silent", "")
	case "unicode":
		return cruster.WithDetails(cruster.Errorf("größe", "zu groß: 世界 🌍 \u202e"), "größer \u0000")
	case "long":
		return cruster.Errorf("long", "%s", strings.Repeat("ä", 10_000))
	case "details of nothing":
		return cruster.WithDetails(cruster.Errorf("nothing", "details of nothing"), nil)
	case "details too large":
		return cruster.WithDetails(cruster.Errorf("much", "details too large"), make([]byte, 300<<10))
	}
	return declined
}

// Fail fails.
var Fail = cruster.NewWorkflow("Fail", func(_ cruster.Context, how string) (string, error) {
	return "", failure(how)
})

// SeenDetails is the outcome of a call, with the details of its error.
type SeenDetails struct {
	Seen    Seen `json:"seen"`
	Details any  `json:"details"`
}

func seenDetails(value any, err error) SeenDetails {
	details, _ := cruster.Details[any](err)
	return SeenDetails{Seen: seen(value, err), Details: details}
}

// Decline calls an activity that fails, and returns its view of the failure.
var Decline = cruster.NewWorkflow("Decline", func(ctx cruster.Context, how string) (SeenDetails, error) {
	return seenDetails(decline.Call(ctx, how)), nil
})

var decline = cruster.NewActivity("decline", func(ctx *cruster.ActivityContext, how string) (string, error) {
	if how == "statement" {
		_, err := ctx.Tx().Exec("nonsense")
		return "", fmt.Errorf("while writing: %w", err)
	}
	return "", failure(how)
}, cruster.Retries(1), cruster.ConstantBackoff(time.Millisecond))

// RethrowRequest names the failing call, and how the workflow passes that on.
type RethrowRequest struct {
	From string `json:"from"`
	// Words, if any, are put before the error.
	Words string `json:"words,omitempty"`
}

// Rethrow fails with the error of something that it waits for.
var Rethrow = cruster.NewWorkflow("Rethrow", func(ctx cruster.Context, r RethrowRequest) (string, error) {
	err := rethrown(ctx, r.From)
	if r.Words != "" {
		err = fmt.Errorf("%s: %w", r.Words, err)
	}
	return "", err
}).Accepts(answer, never)

func rethrown(ctx cruster.Context, from string) error {
	var err error
	switch from {
	case "activity":
		_, err = decline.Call(ctx, "final")
	case "child":
		_, err = Fail.Client().Execute(ctx, "no money")
	case "plain child":
		_, err = Fail.Client().Execute(ctx, "plain")
	case "deferred":
		if _, err = answer.Reject(ctx, failure("by itself")); err == nil {
			_, err = answer.Await(ctx)
		}
	case "timeout":
		_, err = cruster.WithTimeout(ctx, time.Millisecond, never.Future(ctx))
	case "refusal":
		_, err = bulk.Call(ctx, make([]byte, 5<<20))
	case "missing":
		_, err = cruster.RemoteWorkflow[string, any]("Missing").Execute(ctx, "text")
	}
	return err
}

// FollowFailed starts a child that fails, waits for it, and looks at it after its end.
var FollowFailed = cruster.NewWorkflow("FollowFailed", func(ctx cruster.Context, how string) ([]any, error) {
	client := Fail.Client().WithKey("followed " + how)
	id, err := client.Start(ctx, how)
	if err != nil {
		return nil, err
	}
	_, err = client.Execute(ctx, how)
	waited := seenDetails(nil, err)
	status, err := client.Poll(ctx, id)
	if err != nil {
		return nil, err
	}
	return []any{id, waited, status.State, status.Done, seenDetails(nil, status.Err)}, nil
})
