package client

import (
	"context"
	"crypto/rand"

	"github.com/cruster/cruster/abi"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
)

// WorkflowOf is one workflow with the types of its request and result; make one with [Workflow]. It is a value without
// state: keep it for as long as you like.
type WorkflowOf[Req, Res any] struct {
	client *Client
	name   string
	key    string
	mode   string
	// ifFinished and requestID apply to starts.
	ifFinished IfFinished
	requestID  string
}

// IfFinished is the policy of a start if the run under its key has finished. A start finds an
// unfinished run under any policy.
type IfFinished = abi.IfFinished

// Policies of a start for a finished run.
const (
	// ReturnFinished answers with the finished run: the default.
	ReturnFinished = abi.ReturnFinished
	// RestartFinished starts a new run.
	RestartFinished = abi.RestartFinished
	// RestartFailed starts a new run unless the finished one completed successfully.
	RestartFailed = abi.RestartFailed
	// RefuseFinished is an error of abi.CodeFinishedBefore.
	RefuseFinished = abi.RefuseFinished
)

var wireIfFinished = map[IfFinished]crusterv1.IfFinished{
	ReturnFinished:  crusterv1.IfFinished_IF_FINISHED_RETURN,
	RestartFinished: crusterv1.IfFinished_IF_FINISHED_RESTART,
	RestartFailed:   crusterv1.IfFinished_IF_FINISHED_RESTART_FAILED,
	RefuseFinished:  crusterv1.IfFinished_IF_FINISHED_REFUSE,
}

// Workflow binds a workflow, named "deployment/Workflow", to the types of its request and result. Structs are encoded
// by their msgpack or else json tags.
func Workflow[Req, Res any](c *Client, name string) WorkflowOf[Req, Res] {
	return WorkflowOf[Req, Res]{client: c, name: name}
}

// WithKey returns a copy whose starts use the given idempotency key instead of the key derived from
// its request. The host hashes it, so it may hold personal data.
func (w WorkflowOf[Req, Res]) WithKey(key string) WorkflowOf[Req, Res] {
	w.key, w.mode = key, abi.KeyHashed
	return w
}

// WithKeyRaw is WithKey with a key that is used as it is, and shows in the name of the execution.
func (w WorkflowOf[Req, Res]) WithKeyRaw(key string) WorkflowOf[Req, Res] {
	w.key, w.mode = key, abi.KeyRaw
	return w
}

// IfFinished returns a copy whose starts follow this policy if the run under their key has
// finished.
func (w WorkflowOf[Req, Res]) IfFinished(do IfFinished) WorkflowOf[Req, Res] {
	w.ifFinished = do
	return w
}

// WithRequestID returns a copy whose starts have this request id: starts that replace a finished
// run start one run, however often they are repeated, also from another process. Without it each
// call draws one, and the client repeats the request itself.
func (w WorkflowOf[Req, Res]) WithRequestID(id string) WorkflowOf[Req, Res] {
	w.requestID = id
	return w
}

// Execute starts an execution, or finds the execution started with the same key, and waits for its
// result.
func (w WorkflowOf[Req, Res]) Execute(ctx context.Context, req Req) (Res, error) {
	var none Res
	start, err := w.options(req)
	if err != nil {
		return none, err
	}
	exec, _, err := w.client.Execute(ctx, start, crusterv1.Encoding_ENCODING_MSGPACK)
	if err != nil {
		return none, err
	}
	return resultOf[Res](exec)
}

// Start starts an execution, or finds the execution started with the same key. It returns as soon
// as the start is durable.
func (w WorkflowOf[Req, Res]) Start(ctx context.Context, req Req) (Run[Res], error) {
	start, err := w.options(req)
	if err != nil {
		return Run[Res]{}, err
	}
	resp, err := w.client.Workflows().StartExecution(ctx, &crusterv1.StartExecutionRequest{
		Start: start, Encoding: crusterv1.Encoding_ENCODING_MSGPACK,
	})
	if err != nil {
		return Run[Res]{}, err
	}
	return Run[Res]{client: w.client, name: resp.GetExecution().GetName(), existed: resp.GetExisted()}, nil
}

func (w WorkflowOf[Req, Res]) options(req Req) (*crusterv1.StartOptions, error) {
	input, err := abi.Marshal(req)
	if err != nil {
		return nil, abi.Errorf(abi.CodeBadInput, "the request of %s does not encode: %v", w.name, err)
	}
	start := &crusterv1.StartOptions{Namespace: w.client.namespace, Workflow: w.name, Input: packed(input)}
	if w.ifFinished != "" {
		wire, ok := wireIfFinished[w.ifFinished]
		if !ok {
			return nil, abi.Errorf(
				abi.CodeBadRequest, "there is nothing to do with a finished run that is called %.40q", w.ifFinished,
			)
		}
		start.IfFinished, start.RequestId = wire, rand.Text()
	}
	if w.requestID != "" {
		start.RequestId = w.requestID
	}
	switch w.mode {
	case abi.KeyHashed:
		start.Idempotency = &crusterv1.StartOptions_Key{Key: w.key}
	case abi.KeyRaw:
		start.Idempotency = &crusterv1.StartOptions_RawKey{RawKey: w.key}
	}
	return start, nil
}
