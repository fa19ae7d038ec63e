package rpc

import (
	"context"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/api/convert"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/journal"
)

// maxRejection bounds what a rejection says.
const maxRejection = 64 << 10

// settlementEngine is what the deferred service uses of an engine.
type settlementEngine interface {
	Settle(ctx context.Context, namespace, execution string, d journal.Deferred) error
}

type deferredService struct {
	crusterv1.UnimplementedDeferredServiceServer
	engine settlementEngine
}

var _ crusterv1.DeferredServiceServer = (*deferredService)(nil)

func (d *deferredService) Resolve(ctx context.Context, req *crusterv1.ResolveRequest) (*crusterv1.ResolveResponse, error) {
	value, err := convert.DecodePayload(req.GetValue(), nil)
	if err != nil {
		return nil, err
	}
	if err := d.settle(ctx, req, journal.Deferred{Name: req.GetName(), Value: value}); err != nil {
		return nil, err
	}
	return &crusterv1.ResolveResponse{}, nil
}

func (d *deferredService) Reject(ctx context.Context, req *crusterv1.RejectRequest) (*crusterv1.RejectResponse, error) {
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
	if err := d.settle(ctx, req, journal.Deferred{Name: req.GetName(), Error: rejection}); err != nil {
		return nil, err
	}
	return &crusterv1.RejectResponse{}, nil
}

// A settleRequest names a promise of an execution.
type settleRequest interface {
	GetNamespace() string
	GetExecution() string
}

func (d *deferredService) settle(ctx context.Context, req settleRequest, s journal.Deferred) error {
	ns, err := convert.Target(req.GetNamespace(), req.GetExecution())
	if err != nil {
		return err
	}
	if s.Name == "" || len(s.Name) > abi.MaxName {
		return abi.Errorf(abi.CodeBadRequest, "%.80q is not a valid name of a deferred", s.Name).WithHint("Names have 1 to %d bytes.", abi.MaxName)
	}
	return d.engine.Settle(ctx, ns, req.GetExecution(), s)
}
