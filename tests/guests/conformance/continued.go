package main

import (
	"errors"
	"time"

	cruster "github.com/cruster/cruster/guest-sdk/go"
)

// ContinuesRequest says how many runs are left, and the observations of earlier ones.
type ContinuesRequest struct {
	Left int      `json:"left"`
	Seen []string `json:"seen,omitempty"`
}

// Continues receives a word in each of its runs, and returns all of them.
var Continues = cruster.NewWorkflow("Continues", func(ctx cruster.Context, r ContinuesRequest) ([]string, error) {
	word, err := wordSignal.Receive(ctx)
	if err != nil {
		return nil, err
	}
	all := append(r.Seen, word)
	if r.Left > 1 {
		return nil, cruster.ContinueAsNew(ContinuesRequest{Left: r.Left - 1, Seen: all})
	}
	return all, nil
}).Accepts(wordSignal)

// CountsDown continues until nothing is left.
var CountsDown = cruster.NewWorkflow("CountsDown", func(ctx cruster.Context, left int) (string, error) {
	if left > 0 {
		return "", cruster.ContinueAsNew(left - 1)
	}
	return cruster.ExecutionID(ctx), nil
})

// AwaitsContinued calls a workflow that continues, and gets the result of its last run.
var AwaitsContinued = cruster.NewWorkflow("AwaitsContinued", func(ctx cruster.Context, left int) (string, error) {
	return CountsDown.Client().WithKeyRaw("awaited").Execute(ctx, left)
})

// ContinuesUnread continues at the gate with a word that was delivered, and that it did not look
// at. Its second run looks at it, and sees the published values of the first.
var ContinuesUnread = cruster.NewWorkflow("ContinuesUnread", func(ctx cruster.Context, second bool) ([]any, error) {
	if second {
		first, ok, err := wordSignal.TryReceive(ctx)
		if err != nil {
			return nil, err
		}
		last, err := wordSignal.Receive(ctx)
		return []any{ok, first, last}, err
	}
	if err := stageState.Set(ctx, "first"); err != nil {
		return nil, err
	}
	if _, ok, err := wordSignal.TryReceive(ctx); ok || err != nil {
		return nil, cruster.Errorf("unexpected", "a word before one was sent: %v", err)
	}
	if _, err := gate.Await(ctx); err != nil {
		return nil, err
	}
	return nil, cruster.ContinueAsNew(true)
}).Accepts(gate, wordSignal).Publishes(stageState)

// ContinuesUpdated leaves its updates to its second run.
var ContinuesUpdated = cruster.NewWorkflow("ContinuesUpdated", func(ctx cruster.Context, second bool) (int64, error) {
	if !second {
		if _, err := gate.Await(ctx); err != nil {
			return 0, err
		}
		return 0, cruster.ContinueAsNew(true)
	}
	sum, finished := int64(0), false
	addUpdate.Handle(ctx, func(int64) error { return nil }, func(_ cruster.Context, n int64) (int64, error) {
		sum += n
		return sum, nil
	})
	finishUpdate.Handle(ctx, func(cruster.Context, cruster.None) (string, error) {
		finished = true
		return "bye", nil
	})
	return sum, cruster.WaitUntil(ctx, func() bool { return finished })
}).Accepts(gate).Takes(addUpdate, finishUpdate)

// ContinuesStopped continues when it is asked to stop, and its second run is, too.
var ContinuesStopped = cruster.NewWorkflow("ContinuesStopped", func(ctx cruster.Context, second bool) ([]any, error) {
	err := cruster.Sleep(ctx, time.Hour)
	if !errors.Is(err, cruster.ErrInterrupted) {
		return nil, cruster.Errorf("unexpected", "not interrupted: %v", err)
	}
	if !second {
		return nil, cruster.ContinueAsNew(true)
	}
	return []any{second, cruster.InterruptReason(ctx)}, nil
})
