package grpcserver

import (
	"context"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/api/convert"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
)

// A question is the common part of a query and an update: a workflow is asked something by name,
// and answers.
type question interface {
	lookupRequest
	GetName() string
	GetInput() *crusterv1.Payload
}

// asking is how a kind of question is asked.
type asking struct {
	kind string
	// input is the type of the question's input.
	input func(*abi.WorkflowInfo) (*abi.Schema, error)
	send  func(ctx context.Context, namespace string, input []byte) (abi.Outcome, error)
}

// ask asks the workflow of an execution. The answer is a value, or the error that the workflow
// answers with.
func (w *workflowService) ask(ctx context.Context, q question, a asking) (*crusterv1.Payload, *abi.Error, error) {
	ns, err := convert.Target(q.GetNamespace(), q.GetExecution())
	if err != nil {
		return nil, nil, err
	}
	as, err := convert.AnswerEncoding(q.GetEncoding(), q.GetInput())
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := w.lifetime.bound(ctx)
	defer cancel()
	ctx, end := ahead(ctx)
	defer end()
	outcome, err := w.sendTyped(ctx, ns, q, a)
	if err != nil {
		return nil, nil, explainMessage("the input of "+a.kind, q.GetName(), err)
	}
	if outcome.Error != nil {
		return nil, outcome.Error, nil
	}
	value, err := convert.EncodePayload(outcome.Value, as)
	return value, nil, err
}

// sendTyped decodes the input as the workflow wants it, and sends it.
func (w *workflowService) sendTyped(ctx context.Context, namespace string, q question, a asking) (abi.Outcome, error) {
	if err := abi.CheckName(a.kind, q.GetName()); err != nil {
		return abi.Outcome{}, abi.Errorf(abi.CodeBadRequest, "%s", err.Message)
	}
	input, err := convert.DecodeTyped(q.GetInput(), func() (*abi.Schema, error) {
		info, err := w.engine.Observer.WorkflowOf(ctx, namespace, q.GetExecution())
		if err != nil {
			return nil, err
		}
		return a.input(info)
	})
	if err != nil {
		return abi.Outcome{}, err
	}
	return a.send(ctx, namespace, input)
}
