package control

import (
	"cmp"
	"context"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/execution/request"
	"github.com/cruster/cruster/host/message"
)

// QueryRequest asks a workflow a question.
type QueryRequest struct {
	// Name of the query.
	Name string
	// Input is one msgpack value; nil if it was left out.
	Input []byte
}

// Query asks a running execution a question, and returns the answer. Nothing is written, and nothing is changed; the
// execution may sleep meanwhile.
func (x *Executions) Query(ctx context.Context, namespace, name string, req QueryRequest) ([]byte, error) {
	row, err := x.deps.Observer.Poll(ctx, namespace, name)
	if err != nil {
		return nil, err
	}
	workflow, err := x.deps.Programs.Workflow(ctx, row)
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
	outcome, err := x.deps.Executions.Queries.Query(ctx, request.RefTo(row), abi.Query{Input: input, Name: req.Name})
	if err != nil {
		return nil, err
	}
	if failure := outcome.Error; failure != nil {
		failure.Code = cmp.Or(failure.Code, abi.CodeQueryFailed)
		return nil, failure
	}
	return outcome.Value, nil
}

// UpdateRequest asks a workflow for a change.
type UpdateRequest struct {
	// Name of the update.
	Name string
	// Input is one msgpack value; nil if it was left out.
	Input []byte
	// RequestID makes it safe to repeat the request: the same one takes effect once and has the same answer, for as
	// long as receipts are kept. Empty means that it is not repeated.
	RequestID string
}

// Update sends an update to an execution, and returns the answer once that is durable. The answer may be an error; an
// error that is returned says that there is none, as far as the host knows.
func (x *Executions) Update(ctx context.Context, namespace, name string, req UpdateRequest) (abi.Outcome, error) {
	if err := x.deps.Admission.AdmitMessage(); err != nil {
		return abi.Outcome{}, err
	}
	origin, err := message.UpdateOriginOf(req.RequestID)
	if err != nil {
		return abi.Outcome{}, err
	}
	row, err := x.deps.Observer.Poll(ctx, namespace, name)
	if err != nil {
		return abi.Outcome{}, err
	}
	workflow, err := x.deps.Programs.Workflow(ctx, row)
	if err != nil {
		return abi.Outcome{}, err
	}
	info, err := workflow.Update(req.Name)
	if err != nil {
		return abi.Outcome{}, err
	}
	input, err := info.CheckInput(req.Input)
	if err != nil {
		return abi.Outcome{}, err
	}
	// Another run may take the place of this one while its caller waits, and answer.
	ref := request.Ref{ID: row.ID, Name: row.Name()}
	return x.deps.Executions.Updates.Update(ctx, ref, message.Update{
		Name: req.Name, Input: input, Origin: origin, Validated: info.Validated,
	})
}
