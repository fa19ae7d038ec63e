package client

import (
	"context"

	"github.com/cruster/cruster/abi"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
)

// PublishedOf is a value that executions of a workflow publish, with its type; make one with
// [Published]. It is a value without state: keep it for as long as you like.
type PublishedOf[T any] struct {
	name string
}

// Published binds a value that executions publish to its type.
func Published[T any](name string) PublishedOf[T] { return PublishedOf[T]{name: name} }

// Of reads the value of an execution, "deployment/Workflow/key", also of a finished one. It reports
// false if the execution has not published it, or has taken it back.
func (p PublishedOf[T]) Of(ctx context.Context, c *Client, execution string) (value T, there bool, err error) {
	resp, err := c.Workflows().GetExecutionState(ctx, &crusterv1.GetExecutionStateRequest{
		Namespace: c.namespace, Execution: execution, Name: p.name, Encoding: crusterv1.Encoding_ENCODING_MSGPACK,
	})
	if err != nil || len(resp.GetState()) == 0 {
		return value, false, err
	}
	if err := abi.Unmarshal(resp.GetState()[0].GetValue().GetMsgpack(), &value); err != nil {
		return value, false, abi.Errorf(abi.CodeBadInput, "the state %s of %s does not fit: %v", p.name, execution, err)
	}
	return value, true, nil
}
