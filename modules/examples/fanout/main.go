// Command fanout runs many steps in parallel and adds up their results.
package main

import (
	"time"

	cruster "github.com/cruster/cruster/guest-sdk/go"
)

// FanOutRequest is the request of FanOut.
type FanOutRequest struct {
	// Run is the key of a fan-out.
	Run string `json:"run"`
	// N is how many steps run. Defaults to 100.
	N int `json:"n,omitempty"`
	// Record makes each step write a row, so that effects can be counted.
	Record bool `json:"record,omitempty"`
}

// FanOutResult is the result of FanOut.
type FanOutResult struct {
	N   int   `json:"n"`
	Sum int64 `json:"sum"`
}

// FanOut squares the numbers from 1 to N in parallel and returns their sum.
var FanOut = cruster.NewWorkflow("FanOut", fanOut)

func fanOut(ctx cruster.Context, req FanOutRequest) (FanOutResult, error) {
	n := req.N
	if n == 0 {
		n = 100
	}
	if n < 0 || n > 5000 {
		return FanOutResult{}, cruster.Errorf("invalid_request", "n is %d, it must be 1 to 5000", n)
	}
	futures := make([]cruster.Future[int64], n)
	for i := range futures {
		futures[i] = Square.Go(ctx, Step{Number: int64(i + 1), Record: req.Record})
	}
	squares, err := cruster.All(ctx, futures...)
	if err != nil {
		return FanOutResult{}, err
	}
	result := FanOutResult{N: n}
	for _, s := range squares {
		result.Sum += s
	}
	return result, nil
}

// Step is the input of Square.
type Step struct {
	Number int64 `json:"number"`
	Record bool  `json:"record"`
}

// Square squares a number.
var Square = cruster.NewActivity("square", square, cruster.Retries(3), cruster.ExponentialBackoff(50*time.Millisecond))

func square(ctx *cruster.ActivityContext, s Step) (int64, error) {
	if s.Record {
		_, err := ctx.Tx().Exec(
			`INSERT INTO fanout_effects (execution, step) VALUES ($1, $2)`, ctx.ExecutionID(), s.Number,
		)
		if err != nil {
			return 0, err
		}
	}
	return s.Number * s.Number, nil
}

var _ = cruster.Migrations(
	cruster.Migration{Version: 1, Name: "effects", SQL: `
CREATE TABLE fanout_effects (
	execution TEXT NOT NULL,
	step      BIGINT NOT NULL
)`},
)

func main() {}
