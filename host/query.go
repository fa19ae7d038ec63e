package host

import (
	"cmp"
	"context"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/execution"
)

// QueryRequest asks a workflow a question.
type QueryRequest struct {
	// Name of the query.
	Name string
	// Input is one msgpack value; nil if it was left out.
	Input []byte
}

// Query asks a running execution a question, and returns the answer. Nothing is written,
// and nothing is changed; the execution may sleep meanwhile.
func (e *Engine) Query(ctx context.Context, namespace, name string, req QueryRequest) ([]byte, error) {
	row, err := e.Poll(ctx, namespace, name)
	if err != nil {
		return nil, err
	}
	workflow, err := e.workflowOf(ctx, row)
	if err != nil {
		return nil, err
	}
	query, err := workflow.Query(req.Name)
	if err != nil {
		return nil, err
	}
	input, err := query.CheckInput(req.Input)
	if err != nil {
		return nil, err
	}
	outcome, err := e.executions.Query(ctx, execution.RefTo(row), abi.Query{Input: input, Name: req.Name})
	if err != nil {
		return nil, err
	}
	if failure := outcome.Error; failure != nil {
		failure.Code = cmp.Or(failure.Code, abi.CodeQueryFailed)
		return nil, failure
	}
	return outcome.Value, nil
}
