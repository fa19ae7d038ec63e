package rpc

import (
	"context"
	"errors"
	"fmt"

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
		return nil, explainQuery(req.GetName(), err)
	}
	p, err := convert.EncodePayload(value, as)
	if err != nil {
		return nil, err
	}
	return &crusterv1.QueryResponse{Value: p}, nil
}

// query decodes the input as the query wants it, and asks. Only JSON needs its type here: the
// engine checks every input against it.
func (w *workflowService) query(ctx context.Context, namespace string, req *crusterv1.QueryRequest) ([]byte, error) {
	if err := abi.CheckName("query", req.GetName()); err != nil {
		return nil, abi.Errorf(abi.CodeBadRequest, "%s", err.Message)
	}
	input, err := w.queryInput(ctx, namespace, req)
	if err != nil {
		return nil, err
	}
	return w.engine.Query(ctx, namespace, req.GetExecution(), host.QueryRequest{Name: req.GetName(), Input: input})
}

func (w *workflowService) queryInput(ctx context.Context, namespace string, req *crusterv1.QueryRequest) ([]byte, error) {
	switch req.GetInput().GetData().(type) {
	case nil:
		return nil, nil // the engine knows what an absent input means
	case *crusterv1.Payload_Msgpack:
		return convert.DecodePayload(req.GetInput(), nil)
	}
	info, err := w.engine.WorkflowOf(ctx, namespace, req.GetExecution())
	if err != nil {
		return nil, err
	}
	query, err := info.Query(req.GetName())
	if err != nil {
		return nil, err
	}
	return convert.DecodePayload(req.GetInput(), query.Input)
}

// explainQuery adds to the error of an input that does not fit which query it was for.
func explainQuery(name string, err error) error {
	var misfit *abi.Error
	if !errors.As(err, &misfit) || misfit.Code != abi.CodeBadInput {
		return err
	}
	about := misfit.WithHint("'cruster-host module describe' shows the types of queries.")
	about.Message = fmt.Sprintf("the input of query %.100s: %s", name, misfit.Message)
	return about
}
