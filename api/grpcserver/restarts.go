package grpcserver

import (
	"context"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/api/convert"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/host"
	"github.com/cruster/cruster/journal"
)

func (w *workflowService) RestartExecution(
	ctx context.Context, req *crusterv1.RestartExecutionRequest,
) (*crusterv1.RestartExecutionResponse, error) {
	ns, err := convert.Target(req.GetNamespace(), req.GetExecution())
	if err != nil {
		return nil, err
	}
	to, err := convert.ModuleReference(req.GetTo(), host.Latest)
	if err != nil {
		return nil, err
	}
	input, err := convert.DecodeTyped(req.GetInput(), func() (*abi.Schema, error) {
		return w.inputOf(ctx, ns, req.GetExecution(), to)
	})
	if err != nil {
		return nil, explainRestart(req, err)
	}
	exec, existed, err := w.engine.Launcher.Restart(ctx, ns, req.GetExecution(), host.RestartRequest{
		Input: input, To: to, RequestID: req.GetRequestId(),
	})
	if err != nil {
		return nil, explainRestart(req, err)
	}
	p, err := convert.ListedExecution(exec)
	if err != nil {
		return nil, err
	}
	return &crusterv1.RestartExecutionResponse{Execution: p, Existed: existed}, nil
}

// explainRestart is explainMisfit of a new run, which has the input of the one before if it is given none.
func explainRestart(req *crusterv1.RestartExecutionRequest, err error) error {
	workflow, _, _ := journal.ParseName(req.GetExecution())
	if req.GetInput() == nil {
		return explainInputOf(workflow, "the input that the last run of %.150s had: %s", err)
	}
	return explainMisfit(&crusterv1.StartOptions{Workflow: workflow, Input: req.GetInput()}, err)
}

// inputOf is the type of the input of a new run of an execution: as it is deployed, or, if the
// caller names a module, as the finished run has it. The engine checks it with the module.
func (w *workflowService) inputOf(ctx context.Context, namespace, execution, to string) (*abi.Schema, error) {
	if to != host.Latest {
		info, err := w.engine.Observer.WorkflowOf(ctx, namespace, execution)
		if err != nil {
			return nil, err
		}
		return info.Input, nil
	}
	workflow, _, ok := journal.ParseName(execution)
	if !ok {
		return nil, abi.Errorf(abi.CodeExecutionNotFound, "%.300q does not name an execution", execution)
	}
	info, err := w.workflowInfo(ctx, namespace, workflow)
	if err != nil {
		return nil, err
	}
	return info.Input, nil
}

func (w *workflowService) DeleteExecution(
	ctx context.Context, req *crusterv1.DeleteExecutionRequest,
) (*crusterv1.DeleteExecutionResponse, error) {
	ns, err := convert.Target(req.GetNamespace(), req.GetExecution())
	if err != nil {
		return nil, err
	}
	if err := w.engine.Maintenance.Delete(ctx, ns, req.GetExecution(), req.GetRunId()); err != nil {
		return nil, err
	}
	return &crusterv1.DeleteExecutionResponse{}, nil
}
