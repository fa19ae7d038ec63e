package client

import (
	"context"

	"github.com/cruster/cruster/abi"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
)

// QueryOf is a query of a workflow with the types of its input and of the answer; make one with [Query]. It is a value
// without state: keep it for as long as you like.
type QueryOf[In, Out any] struct {
	name string
}

// Query binds a query to the types of its input and of the answer.
func Query[In, Out any](name string) QueryOf[In, Out] { return QueryOf[In, Out]{name: name} }

// Ask asks a running execution, "deployment/Workflow/key", and returns its workflow's answer at
// this moment.
func (q QueryOf[In, Out]) Ask(ctx context.Context, c *Client, execution string, input In) (out Out, err error) {
	b, err := abi.Marshal(input)
	if err != nil {
		return out, abi.Errorf(abi.CodeBadInput, "the input of query %s does not encode: %v", q.name, err)
	}
	resp, err := c.Workflows().QueryExecution(ctx, &crusterv1.QueryExecutionRequest{
		Namespace: c.namespace,
		Execution: execution,
		Name:      q.name,
		Input:     packed(b),
		Encoding:  crusterv1.Encoding_ENCODING_MSGPACK,
	})
	if err != nil {
		return out, err
	}
	if err := abi.Unmarshal(resp.GetValue().GetMsgpack(), &out); err != nil {
		return out, abi.Errorf(abi.CodeBadInput, "the answer to query %s does not fit: %v", q.name, err)
	}
	return out, nil
}
