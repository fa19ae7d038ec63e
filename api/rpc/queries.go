package rpc

import (
	"context"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/api/convert"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/host"
)

// queryEngine is what queries use of an engine.
type queryEngine interface {
	// Query answers with what the workflow says.
	Query(ctx context.Context, namespace, execution string, req host.QueryRequest) ([]byte, error)
}

func (w *workflowService) Query(ctx context.Context, req *crusterv1.QueryRequest) (*crusterv1.QueryResponse, error) {
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
	value, err := w.query(ctx, ns, req)
	if err != nil {
		return nil, explainMessage("the input of query", req.GetName(), err)
	}
	p, err := convert.EncodePayload(value, as)
	if err != nil {
		return nil, err
	}
	return &crusterv1.QueryResponse{Value: p}, nil
}

// query decodes the input as the query wants it, and asks.
func (w *workflowService) query(ctx context.Context, namespace string, req *crusterv1.QueryRequest) ([]byte, error) {
	if err := abi.CheckName("query", req.GetName()); err != nil {
		return nil, abi.Errorf(abi.CodeBadRequest, "%s", err.Message)
	}
	input, err := convert.DecodeTyped(req.GetInput(), func() (*abi.Schema, error) {
		info, err := w.engine.WorkflowOf(ctx, namespace, req.GetExecution())
		if err != nil {
			return nil, err
		}
		query, err := info.Query(req.GetName())
		if err != nil {
			return nil, err
		}
		return query.Input, nil
	})
	if err != nil {
		return nil, err
	}
	return w.engine.Query(ctx, namespace, req.GetExecution(), host.QueryRequest{Name: req.GetName(), Input: input})
}
