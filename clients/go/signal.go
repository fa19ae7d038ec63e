package client

import (
	"context"
	"crypto/rand"

	"github.com/cruster/cruster/abi"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
)

// SignalOf is a signal of a workflow with the type of its value; make one with [Signal]. It is a
// value without state: keep it for as long as you like.
type SignalOf[T any] struct {
	name string
}

// Signal binds a signal to the type of its value.
func Signal[T any](name string) SignalOf[T] { return SignalOf[T]{name: name} }

// SignalOption is an option of [SignalOf.Send].
type SignalOption func(*crusterv1.SignalOptions)

// WithRequestID names the request, so that it is safe to send the signal again after a lost answer,
// also from another process: signals with the same id are received once. Without it the client
// draws one, and repeats the request itself.
func WithRequestID(id string) SignalOption {
	return func(o *crusterv1.SignalOptions) { o.RequestId = id }
}

// Send sends the signal to an execution, "deployment/Workflow/key". It returns when the signal is durable; the workflow
// receives it when it asks for it.
func (s SignalOf[T]) Send(ctx context.Context, c *Client, execution string, value T, opts ...SignalOption) error {
	signal, err := s.options(value, opts)
	if err != nil {
		return err
	}
	_, err = c.Workflows().SignalExecution(ctx, &crusterv1.SignalExecutionRequest{
		Namespace: c.namespace, Execution: execution, Signal: signal,
	})
	return err
}

func (s SignalOf[T]) options(value T, opts []SignalOption) (*crusterv1.SignalOptions, error) {
	b, err := abi.Marshal(value)
	if err != nil {
		return nil, abi.Errorf(abi.CodeBadInput, "the value of signal %s does not encode: %v", s.name, err)
	}
	signal := &crusterv1.SignalOptions{Name: s.name, Value: packed(b), RequestId: rand.Text()}
	for _, o := range opts {
		o(signal)
	}
	return signal, nil
}

// SendWithStart sends a signal to an execution of a workflow, and starts it first if it is not
// there: then both are durable, or neither.
func SendWithStart[Req, Res, T any](
	ctx context.Context, w WorkflowOf[Req, Res], req Req, s SignalOf[T], value T, opts ...SignalOption,
) (Run[Res], error) {
	start, err := w.options(req)
	if err != nil {
		return Run[Res]{}, err
	}
	signal, err := s.options(value, opts)
	if err != nil {
		return Run[Res]{}, err
	}
	if w.requestID == "" {
		start.RequestId = "" // the signal has one, which a caller may have given
	}
	resp, err := w.client.Workflows().SignalWithStart(ctx, &crusterv1.SignalWithStartRequest{
		Start: start, Signal: signal, Encoding: crusterv1.Encoding_ENCODING_MSGPACK,
	})
	if err != nil {
		return Run[Res]{}, err
	}
	return Run[Res]{client: w.client, name: resp.GetExecution().GetName(), existed: resp.GetExisted()}, nil
}
