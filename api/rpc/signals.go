package rpc

import (
	"context"
	"errors"
	"fmt"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/api/convert"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/host"
	"github.com/cruster/cruster/journal"
)

// signalEngine is what signals use of an engine.
type signalEngine interface {
	// Signal answers when the signal is durable.
	Signal(ctx context.Context, namespace, execution string, req host.SignalRequest) error
	// SignalWithStart starts the execution if it is not there, in the same commit.
	SignalWithStart(ctx context.Context, start host.StartRequest, signal host.SignalRequest) (exec *journal.Execution, existed bool, err error)
	// WorkflowOf is what the module of an execution says about its workflow.
	WorkflowOf(ctx context.Context, namespace, execution string) (*abi.WorkflowInfo, error)
}

func (w *workflowService) Signal(ctx context.Context, req *crusterv1.SignalRequest) (*crusterv1.SignalResponse, error) {
	ns, err := convert.Target(req.GetNamespace(), req.GetExecution())
	if err != nil {
		return nil, err
	}
	signal, err := decodeSignal(req.GetSignal(), func() (*abi.WorkflowInfo, error) { return w.engine.WorkflowOf(ctx, ns, req.GetExecution()) })
	if err == nil {
		err = w.engine.Signal(ctx, ns, req.GetExecution(), signal)
	}
	if err != nil {
		return nil, explainSignal(req.GetSignal(), err)
	}
	return &crusterv1.SignalResponse{}, nil
}

func (w *workflowService) SignalWithStart(ctx context.Context, req *crusterv1.SignalWithStartRequest) (*crusterv1.SignalWithStartResponse, error) {
	as, err := convert.AnswerEncoding(req.GetEncoding(), req.GetStart().GetInput())
	if err != nil {
		return nil, err
	}
	exec, existed, err := w.start(ctx, req.GetStart(), func(ctx context.Context, start host.StartRequest) (*journal.Execution, bool, error) {
		signal, err := decodeSignal(req.GetSignal(), func() (*abi.WorkflowInfo, error) { return w.workflowInfo(ctx, start.Namespace, start.Workflow) })
		if err != nil {
			return nil, false, explainSignal(req.GetSignal(), err)
		}
		exec, existed, err := w.engine.SignalWithStart(ctx, start, signal)
		return exec, existed, explainSignal(req.GetSignal(), err)
	})
	if err != nil {
		return nil, err
	}
	p, err := convert.Execution(exec, as)
	if err != nil {
		return nil, err
	}
	return &crusterv1.SignalWithStartResponse{Execution: p, Existed: existed}, nil
}

// decodeSignal reads a signal. Only JSON needs its type here: the engine checks every value
// against it.
func decodeSignal(opts *crusterv1.SignalOptions, workflow func() (*abi.WorkflowInfo, error)) (req host.SignalRequest, err error) {
	if err := abi.CheckName("signal", opts.GetName()); err != nil {
		return req, abi.Errorf(abi.CodeBadRequest, "%s", err.Message)
	}
	req = host.SignalRequest{Name: opts.GetName(), RequestID: opts.GetRequestId()}
	switch opts.GetValue().GetData().(type) {
	case nil:
		return req, nil // the engine knows what an absent value means
	case *crusterv1.Payload_Msgpack:
		req.Value, err = convert.DecodePayload(opts.GetValue(), nil)
		return req, err
	}
	info, err := workflow()
	if err != nil {
		return req, err
	}
	signal, err := info.Signal(req.Name)
	if err != nil {
		return req, err
	}
	req.Value, err = convert.DecodePayload(opts.GetValue(), signal.Value)
	return req, err
}

// explainSignal adds to the error of a value that does not fit which signal it was for.
func explainSignal(opts *crusterv1.SignalOptions, err error) error {
	var misfit *abi.Error
	if !errors.As(err, &misfit) || misfit.Code != abi.CodeBadInput {
		return err
	}
	about := misfit.WithHint("'cruster-host module describe' shows the types of signals.")
	about.Message = fmt.Sprintf("the value of signal %.100s: %s", opts.GetName(), misfit.Message)
	return about
}
