//go:build wasip1

// Command golden-before is an earlier version of the workflow of the guest golden: it
// has the first steps of that one, but does not wait to be opened in between. Golden
// journals of runs that were moved begin with it. The same module exists in Rust.
package main

import (
	"time"

	cruster "github.com/cruster/cruster/guest-sdk/go"
)

func main() {}

// Request is the request of golden.
type Request struct {
	Calls []any `json:"calls"`
	Pages int64 `json:"pages"`
}

var (
	answer = cruster.NewDeferred[string]("answer")

	note = cruster.NewActivity("note", func(ctx *cruster.ActivityContext, text string) (string, error) {
		return text + " of the earlier version " + ctx.IdempotencyKey(), nil
	})
)

// Everything is the workflow. It is moved to golden while it waits for the answer.
var Everything = cruster.NewWorkflow("Everything", func(ctx cruster.Context, _ Request) ([]string, error) {
	if err := cruster.Sleep(ctx, time.Millisecond); err != nil {
		return nil, err
	}
	if _, err := note.Call(ctx, "first"); err != nil {
		return nil, err
	}
	_, err := answer.Await(ctx)
	return nil, err
}, cruster.RawKey(func(Request) string { return "everything" })).Accepts(answer)
