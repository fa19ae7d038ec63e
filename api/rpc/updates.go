package rpc

import (
	"context"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/api/convert"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/api/rpcerror"
	"github.com/cruster/cruster/host"
)

// updateEngine is what updates use of an engine.
type updateEngine interface {
	// Update answers with what the workflow says, once that is durable.
	Update(ctx context.Context, namespace, execution string, req host.UpdateRequest) (abi.Outcome, error)
}

func (w *workflowService) Update(ctx context.Context, req *crusterv1.UpdateRequest) (*crusterv1.UpdateResponse, error) {
	ns, err := convert.Target(req.GetNamespace(), req.GetExecution())
	if err != nil {
		return nil, err
	}
	as, err := convert.AnswerEncoding(req.GetEncoding(), req.GetInput())
	if err != nil {
		return nil, err
	}
	ctx, cancel := w.lifetime.bound(ctx)
	defer cancel()
	outcome, err := w.update(ctx, ns, req)
	if err != nil {
		return nil, explainMessage("the input of update", req.GetName(), err)
	}
	if outcome.Error != nil {
		return &crusterv1.UpdateResponse{Error: rpcerror.ToProto(outcome.Error)}, nil
	}
	p, err := convert.EncodePayload(outcome.Value, as)
	if err != nil {
		return nil, err
	}
	return &crusterv1.UpdateResponse{Value: p}, nil
}

// update decodes the input as the update wants it, and sends it.
func (w *workflowService) update(ctx context.Context, namespace string, req *crusterv1.UpdateRequest) (abi.Outcome, error) {
	if err := abi.CheckName("update", req.GetName()); err != nil {
		return abi.Outcome{}, abi.Errorf(abi.CodeBadRequest, "%s", err.Message)
	}
	input, err := convert.DecodeTyped(req.GetInput(), func() (*abi.Schema, error) {
		info, err := w.engine.WorkflowOf(ctx, namespace, req.GetExecution())
		if err != nil {
			return nil, err
		}
		update, err := info.Update(req.GetName())
		if err != nil {
			return nil, err
		}
		return update.Input, nil
	})
	if err != nil {
		return abi.Outcome{}, err
	}
	return w.engine.Update(ctx, namespace, req.GetExecution(), host.UpdateRequest{Name: req.GetName(), Input: input, RequestID: req.GetRequestId()})
}
