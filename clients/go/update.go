package client

import (
	"context"
	"crypto/rand"

	"github.com/cruster/cruster/abi"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/api/rpcerror"
)

// UpdateOf is an update of a workflow with the types of its input and of the answer; make one with [Update]. It is a
// value without state: keep it for as long as you like.
type UpdateOf[In, Out any] struct {
	name      string
	requestID string
}

// Update binds an update to the types of its input and of the answer.
func Update[In, Out any](name string) UpdateOf[In, Out] { return UpdateOf[In, Out]{name: name} }

// WithRequestID returns a copy whose requests have an id of the caller's, so that it is safe to
// make one again after a lost answer, also from another process: requests with the same id take
// effect once, and are answered the same. Use an id for one request only. Without it the client
// draws one for each, and repeats the request itself.
func (u UpdateOf[In, Out]) WithRequestID(id string) UpdateOf[In, Out] {
	u.requestID = id
	return u
}

// Call sends the update to an execution, "deployment/Workflow/key", and returns its workflow's
// answer, which is durable by then. An update that is refused, or fails, yields an [*abi.Error]. If
// the error is abi.CodeDeadline, its message says whether the update was accepted: then it takes
// effect, and a request with the same id returns its answer.
func (u UpdateOf[In, Out]) Call(ctx context.Context, c *Client, execution string, input In) (out Out, err error) {
	b, err := abi.Marshal(input)
	if err != nil {
		return out, abi.Errorf(abi.CodeBadInput, "the input of update %s does not encode: %v", u.name, err)
	}
	req := &crusterv1.UpdateExecutionRequest{
		Namespace: c.namespace,
		Execution: execution,
		Name:      u.name,
		Input:     packed(b),
		RequestId: u.requestID,
		Encoding:  crusterv1.Encoding_ENCODING_MSGPACK,
	}
	if req.RequestId == "" {
		req.RequestId = rand.Text()
	}
	resp, err := c.Workflows().UpdateExecution(ctx, req)
	if err != nil {
		return out, err
	}
	if resp.GetError() != nil {
		return out, rpcerror.FromProto(resp.GetError())
	}
	if err := abi.Unmarshal(resp.GetValue().GetMsgpack(), &out); err != nil {
		return out, abi.Errorf(abi.CodeBadInput, "the answer to update %s does not fit: %v", u.name, err)
	}
	return out, nil
}
