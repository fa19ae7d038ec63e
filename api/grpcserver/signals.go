package grpcserver

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/api/convert"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/host"
	"github.com/cruster/cruster/journal"
)

func (w *workflowService) SignalExecution(
	ctx context.Context, req *crusterv1.SignalExecutionRequest,
) (*crusterv1.SignalExecutionResponse, error) {
	ns, err := convert.Target(req.GetNamespace(), req.GetExecution())
	if err != nil {
		return nil, err
	}
	signal, err := decodeSignal(req.GetSignal(), func() (*abi.WorkflowInfo, error) {
		return w.engine.Observer.WorkflowOf(ctx, ns, req.GetExecution())
	})
	if err == nil {
		err = w.engine.Executions.Signal(ctx, ns, req.GetExecution(), signal)
	}
	if err != nil {
		return nil, explainMessage("the value of signal", req.GetSignal().GetName(), err)
	}
	return &crusterv1.SignalExecutionResponse{}, nil
}

func (w *workflowService) SignalWithStart(
	ctx context.Context, req *crusterv1.SignalWithStartRequest,
) (*crusterv1.SignalWithStartResponse, error) {
	start := req.GetStart()
	as, err := convert.AnswerEncoding(req.GetEncoding(), start.GetInput())
	if err != nil {
		return nil, err
	}
	ns, err := convert.Namespace(start.GetNamespace())
	if err != nil {
		return nil, err
	}
	signal, err := decodeSignal(req.GetSignal(), func() (*abi.WorkflowInfo, error) {
		return w.workflowInfo(ctx, ns, start.GetWorkflow())
	})
	if err != nil {
		return nil, explainMessage("the value of signal", req.GetSignal().GetName(), err)
	}
	exec, existed, err := w.start(
		ctx,
		start,
		func(ctx context.Context, start host.StartRequest) (*journal.Execution, bool, error) {
			return w.engine.Launcher.SignalWithStart(ctx, start, signal)
		},
	)
	if err != nil {
		return nil, err
	}
	p, err := w.answer(ctx, exec, as)
	if err != nil {
		return nil, err
	}
	return &crusterv1.SignalWithStartResponse{Execution: p, Existed: existed}, nil
}

// decodeSignal reads a signal of a workflow.
func decodeSignal(
	opts *crusterv1.SignalOptions, workflow func() (*abi.WorkflowInfo, error),
) (req host.SignalRequest, err error) {
	if err := abi.CheckName("signal", opts.GetName()); err != nil {
		return req, abi.Errorf(abi.CodeBadRequest, "%s", err.Message)
	}
	req = host.SignalRequest{Name: opts.GetName(), RequestID: opts.GetRequestId()}
	req.Value, err = convert.DecodeTyped(opts.GetValue(), func() (*abi.Schema, error) {
		info, err := workflow()
		if err != nil {
			return nil, err
		}
		signal, err := info.Signal(req.Name)
		if err != nil {
			return nil, err
		}
		return signal.Value, nil
	})
	return req, err
}

// explainMessage adds the purpose to the error of a value that does not fit: the schema knows only
// the place within the value.
func explainMessage(what, name string, err error) error {
	var misfit *abi.Error
	if !errors.As(err, &misfit) || misfit.Code != abi.CodeBadInput {
		return err
	}
	about := withHint(misfit, "'cruster-host module describe' shows the types of signals, deferreds and queries.")
	if !strings.HasPrefix(misfit.Message, "the input ") { // a module that could not decode it says so itself
		about.Message = fmt.Sprintf("%s %.100s: %s", what, name, misfit.Message)
	}
	return about
}
