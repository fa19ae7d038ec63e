// Command steps is a workflow of small steps, one after the other. Tests use it to measure the cost of a step.
package main

import (
	"strings"

	cruster "github.com/cruster/cruster/guest-sdk/go"
)

// Request says how many steps there are, and whether each uses SQL.
type Request struct {
	Run string `json:"run"`
	N   int    `json:"n"`
	SQL bool   `json:"sql,omitempty"`
}

// Steps adds up the numbers of its steps.
var Steps = cruster.NewWorkflow("Steps", func(ctx cruster.Context, req Request) (int, error) {
	sum := 0
	for i := range req.N {
		step := Plain
		if req.SQL {
			step = Recorded
		}
		n, err := step.Call(ctx, i)
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
})

// Plain is a step without SQL.
var Plain = cruster.NewActivity("plain", func(_ *cruster.ActivityContext, i int) (int, error) { return i, nil })

// Recorded is a step that writes a row.
var Recorded = cruster.NewActivity("recorded", func(ctx *cruster.ActivityContext, i int) (int, error) {
	_, err := ctx.Tx().Exec(`INSERT INTO steps (execution, step) VALUES ($1, $2)`, ctx.ExecutionID(), i)
	return i, err
})

// Beside runs its steps at the same time, and adds up their numbers.
var Beside = cruster.NewWorkflow("Beside", func(ctx cruster.Context, req Request) (int, error) {
	step := Plain
	if req.SQL {
		step = Recorded
	}
	var steps []cruster.Future[int]
	for i := range req.N {
		steps = append(steps, step.Go(ctx, i))
	}
	sum := 0
	for _, step := range steps {
		n, err := step.Await(ctx)
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
})

// Failure is the input of a step that fails.
type Failure struct {
	Step int `json:"step"`
	Size int `json:"size"`
}

// FanOut runs steps at the same time that all fail, each with a message of some bytes, and counts them.
var FanOut = cruster.NewWorkflow("FanOut", func(ctx cruster.Context, req struct{ N, Size int }) (int, error) {
	var steps []cruster.Future[int]
	for i := range req.N {
		steps = append(steps, Failing.Go(ctx, Failure{i, req.Size}))
	}
	failed := 0
	for _, step := range steps {
		if _, err := step.Await(ctx); err != nil {
			failed++
		}
	}
	return failed, nil
})

// Failing is a step that fails.
var Failing = cruster.NewActivity("failing", func(_ *cruster.ActivityContext, f Failure) (int, error) {
	return 0, cruster.NonRetryable(cruster.Errorf("failing", "%s", strings.Repeat("e", f.Size)))
})

var _ = cruster.Migrations(cruster.Migration{Version: 1, Name: "steps", SQL: `
CREATE TABLE steps (
	execution TEXT NOT NULL,
	step      BIGINT NOT NULL
)`})

func main() {}
