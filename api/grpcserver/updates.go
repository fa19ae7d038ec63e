package grpcserver

import (
	"context"

	"github.com/cruster/cruster/abi"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/api/rpcerror"
	"github.com/cruster/cruster/host"
)

func (w *workflowService) UpdateExecution(
	ctx context.Context, req *crusterv1.UpdateExecutionRequest,
) (*crusterv1.UpdateExecutionResponse, error) {
	value, failure, err := w.ask(ctx, req, asking{
		kind: "update",
		input: func(info *abi.WorkflowInfo) (*abi.Schema, error) {
			update, err := info.Update(req.GetName())
			if err != nil {
				return nil, err
			}
			return update.Input, nil
		},
		send: func(ctx context.Context, namespace string, input []byte) (abi.Outcome, error) {
			return w.engine.Executions.Update(ctx, namespace, req.GetExecution(), host.UpdateRequest{
				Name: req.GetName(), Input: input, RequestID: req.GetRequestId(),
			})
		},
	})
	switch {
	case err != nil:
		return nil, err
	case failure != nil:
		return &crusterv1.UpdateExecutionResponse{Error: rpcerror.ToProto(failure)}, nil
	}
	return &crusterv1.UpdateExecutionResponse{Value: value}, nil
}
