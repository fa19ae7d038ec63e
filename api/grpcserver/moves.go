package grpcserver

import (
	"context"

	"google.golang.org/grpc"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/api/convert"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/host"
	"github.com/cruster/cruster/journal"
)

func (w *workflowService) MoveExecution(
	ctx context.Context, req *crusterv1.MoveExecutionRequest,
) (*crusterv1.MoveExecutionResponse, error) {
	ns, err := convert.Target(req.GetNamespace(), req.GetExecution())
	if err != nil {
		return nil, err
	}
	to, err := convert.ModuleReference(req.GetTo(), host.Latest)
	if err != nil {
		return nil, err
	}
	before, err := w.engine.Observer.Poll(ctx, ns, req.GetExecution())
	if err != nil {
		return nil, err
	}
	exec, err := w.engine.Executions.Move(ctx, ns, req.GetExecution(), to)
	if err != nil {
		return nil, err
	}
	p, err := convert.ListedExecution(exec)
	if err != nil {
		return nil, err
	}
	return &crusterv1.MoveExecutionResponse{Execution: p, FromDigest: before.Digest}, nil
}

func (w *workflowService) MoveExecutions(
	req *crusterv1.MoveExecutionsRequest, stream grpc.ServerStreamingServer[crusterv1.MoveExecutionsResponse],
) error {
	ns, err := convert.Namespace(req.GetNamespace())
	if err != nil {
		return err
	}
	if err := convert.WorkflowGroup(req.GetWorkflow()); err != nil {
		return err
	}
	states, err := openStates(req.GetState())
	if err != nil {
		return err
	}
	to, err := convert.ModuleReference(req.GetTo(), host.Latest)
	if err != nil {
		return err
	}
	ctx, cancel := w.lifetime.bound(stream.Context())
	defer cancel()
	if err := w.engine.Observer.RequireWorkflow(ctx, ns, req.GetWorkflow()); err != nil {
		return err
	}
	r := rollout{engine: w.engine, namespace: ns, workflow: req.GetWorkflow(), states: states, to: to}
	done := uint32(0)
	return r.run(ctx, func(result *crusterv1.MoveResult) error {
		done++
		return stream.Send(&crusterv1.MoveExecutionsResponse{Done: done, Result: result})
	})
}

// openStates is the states that a caller wants to have moved. Running comes first: an execution
// paused meanwhile is then still found.
func openStates(s crusterv1.State) ([]journal.State, error) {
	state, err := convert.StateFilter(s)
	switch {
	case err != nil:
		return nil, err
	case state == "":
		return []journal.State{journal.Running, journal.Paused}, nil
	case state.Final():
		return nil, abi.Errorf(abi.CodeBadRequest, "executions that are %s cannot be moved", state).
			WithHint("Move those that are running or paused; fork those that are over.")
	default:
		return []journal.State{state}, nil
	}
}

func (w *workflowService) ForkExecution(
	ctx context.Context, req *crusterv1.ForkExecutionRequest,
) (*crusterv1.ForkExecutionResponse, error) {
	ns, err := convert.Target(req.GetNamespace(), req.GetExecution())
	if err != nil {
		return nil, err
	}
	to, err := convert.ModuleReference(req.GetTo(), "")
	if err != nil {
		return nil, err
	}
	if req.GetKey() != "" {
		if err := abi.CheckKey(req.GetKey()); err != nil {
			return nil, err
		}
	}
	exec, err := w.engine.Launcher.Fork(ctx, ns, req.GetExecution(), host.ForkRequest{
		At: req.GetAt(), To: to, Key: req.GetKey(),
	})
	if err != nil {
		return nil, err
	}
	p, err := convert.ListedExecution(exec)
	if err != nil {
		return nil, err
	}
	return &crusterv1.ForkExecutionResponse{Execution: p}, nil
}
