package grpcserver

import (
	"context"

	"github.com/cruster/cruster/abi"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/host"
)

func (w *workflowService) QueryExecution(
	ctx context.Context, req *crusterv1.QueryExecutionRequest,
) (*crusterv1.QueryExecutionResponse, error) {
	value, _, err := w.ask(ctx, req, asking{
		kind: "query",
		input: func(info *abi.WorkflowInfo) (*abi.Schema, error) {
			query, err := info.Query(req.GetName())
			if err != nil {
				return nil, err
			}
			return query.Input, nil
		},
		send: func(ctx context.Context, namespace string, input []byte) (abi.Outcome, error) {
			value, err := w.engine.Executions.Query(ctx, namespace, req.GetExecution(), host.QueryRequest{
				Name: req.GetName(), Input: input,
			})
			return abi.Outcome{Value: value}, err
		},
	})
	if err != nil {
		return nil, err
	}
	return &crusterv1.QueryExecutionResponse{Value: value}, nil
}
