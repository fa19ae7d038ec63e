package grpcserver

import (
	"context"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/api/convert"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/journal"
)

// maxRejection bounds the text of a rejection.
const maxRejection = 64 << 10

type deferredService struct {
	crusterv1.UnimplementedDeferredServiceServer
	engine *Engine
}

var _ crusterv1.DeferredServiceServer = (*deferredService)(nil)

func (d *deferredService) ResolveDeferred(
	ctx context.Context, req *crusterv1.ResolveDeferredRequest,
) (*crusterv1.ResolveDeferredResponse, error) {
	ns, err := settled(req)
	if err != nil {
		return nil, err
	}
	value, err := convert.DecodeTyped(req.GetValue(), func() (*abi.Schema, error) {
		info, err := d.engine.Observer.WorkflowOf(ctx, ns, req.GetExecution())
		if err != nil {
			return nil, err
		}
		deferred, err := info.Deferred(req.GetName())
		if err != nil {
			return nil, err
		}
		return deferred.Value, nil
	})
	if err == nil {
		err = d.engine.Executions.Settle(ctx, ns, req.GetExecution(), journal.Deferred{
			Name: req.GetName(), Value: value,
		})
	}
	if err != nil {
		return nil, explainMessage("the value of deferred", req.GetName(), err)
	}
	return &crusterv1.ResolveDeferredResponse{}, nil
}

func (d *deferredService) RejectDeferred(
	ctx context.Context, req *crusterv1.RejectDeferredRequest,
) (*crusterv1.RejectDeferredResponse, error) {
	if n := len(req.GetMessage()); n > maxRejection {
		return nil, abi.Errorf(abi.CodeBadRequest, "a message of %d bytes is over the limit of %d", n, maxRejection)
	}
	if n := len(req.GetType()); n > abi.MaxName {
		return nil, abi.Errorf(abi.CodeBadRequest, "a type of %d bytes is over the limit of %d", n, abi.MaxName)
	}
	message := req.GetMessage()
	if message == "" {
		message = "rejected"
	}
	rejection := abi.Errorf(abi.CodeDeferredRejected, "%s", message)
	rejection.Type = req.GetType()
	ns, err := settled(req)
	if err == nil {
		err = d.engine.Executions.Settle(ctx, ns, req.GetExecution(), journal.Deferred{
			Name: req.GetName(), Error: rejection,
		})
	}
	if err != nil {
		return nil, err
	}
	return &crusterv1.RejectDeferredResponse{}, nil
}

// A settleRequest names a promise of an execution.
type settleRequest interface {
	GetNamespace() string
	GetExecution() string
	GetName() string
}

// settled checks which promise is to be settled, and returns its namespace.
func settled(req settleRequest) (namespace string, err error) {
	if namespace, err = convert.Target(req.GetNamespace(), req.GetExecution()); err != nil {
		return "", err
	}
	if n := len(req.GetName()); n == 0 || n > abi.MaxName {
		return "", abi.Errorf(abi.CodeBadRequest, "%.80q is not a valid name of a deferred", req.GetName()).WithHint(
			"Names have 1 to %d bytes.", abi.MaxName,
		)
	}
	return namespace, nil
}
