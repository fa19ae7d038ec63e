package client

import (
	"context"

	"github.com/cruster/cruster/abi"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/api/rpcerror"
)

// Run is one execution; [WorkflowOf.Start] and [Attach] make them.
type Run[Res any] struct {
	client  *Client
	name    string
	existed bool
}

// Attach makes a run of an execution that is known by its name, "deployment/Workflow/key". It does not ask the host
// whether there is one.
func Attach[Res any](c *Client, execution string) Run[Res] {
	return Run[Res]{client: c, name: execution, existed: true}
}

// Execution is the name of the execution, which finds it again from anywhere.
func (r Run[Res]) Execution() string { return r.name }

// Existed reports whether the execution had been started before.
func (r Run[Res]) Existed() bool { return r.existed }

// Wait waits for the result. A workflow that fails, is interrupted or is paused yields a [*RunError].
func (r Run[Res]) Wait(ctx context.Context) (Res, error) {
	exec, err := r.client.Await(ctx, &crusterv1.WaitExecutionRequest{
		Namespace: r.client.namespace, Execution: r.name, Encoding: crusterv1.Encoding_ENCODING_MSGPACK,
	})
	if err != nil {
		var none Res
		return none, err
	}
	return resultOf[Res](exec)
}

// Status is how far an execution is.
type Status[Res any] struct {
	// Err says why the execution failed, was interrupted or is paused.
	Err *RunError
	// Result is set once State is Completed.
	Result Res
	State  State
}

// Poll returns at once how far the execution is.
func (r Run[Res]) Poll(ctx context.Context) (Status[Res], error) {
	resp, err := r.client.Workflows().GetExecution(ctx, &crusterv1.GetExecutionRequest{
		Namespace: r.client.namespace, Execution: r.name, Encoding: crusterv1.Encoding_ENCODING_MSGPACK,
	})
	if err != nil {
		return Status[Res]{}, err
	}
	exec := resp.GetExecution()
	s := Status[Res]{State: StateOf(exec.GetState())}
	switch s.State {
	case Running:
	case Completed:
		s.Result, err = resultOf[Res](exec)
	default:
		s.Err = runError(exec)
	}
	return s, err
}

// Interrupt asks the execution to stop. It returns when the request is durable; Wait returns when the workflow has
// cleaned up.
func (r Run[Res]) Interrupt(ctx context.Context, reason string) error {
	_, err := r.client.Workflows().InterruptExecution(ctx, &crusterv1.InterruptExecutionRequest{
		Namespace: r.client.namespace, Execution: r.name, Reason: reason,
	})
	return err
}

// Terminate ends the execution at once, running or paused, without its cleanup. It returns when that is durable.
func (r Run[Res]) Terminate(ctx context.Context, reason string) error {
	_, err := r.client.Workflows().TerminateExecution(ctx, &crusterv1.TerminateExecutionRequest{
		Namespace: r.client.namespace, Execution: r.name, Reason: reason,
	})
	return err
}

// ResumeToStop is Interrupt, and lets an execution that is paused go on for it: it cleans up and ends.
func (r Run[Res]) ResumeToStop(ctx context.Context, reason string) error {
	_, err := r.client.Workflows().ResumeExecution(ctx, &crusterv1.ResumeExecutionRequest{
		Namespace: r.client.namespace, Execution: r.name, Interrupt: true, Reason: reason,
	})
	return err
}

// Resume continues the execution if it is paused.
func (r Run[Res]) Resume(ctx context.Context) error {
	_, err := r.client.Workflows().ResumeExecution(ctx, &crusterv1.ResumeExecutionRequest{
		Namespace: r.client.namespace, Execution: r.name,
	})
	return err
}

// Fail ends the execution for good if it is paused. Its code does not run again; Wait yields a [*RunError] with the
// reason. It returns when that is durable.
func (r Run[Res]) Fail(ctx context.Context, reason string) error {
	_, err := r.client.Workflows().FailExecution(ctx, &crusterv1.FailExecutionRequest{
		Namespace: r.client.namespace, Execution: r.name, Reason: reason,
	})
	return err
}

// Move has the execution go on with another module: see [Client.Move].
func (r Run[Res]) Move(ctx context.Context, to string) error {
	_, err := r.client.Move(ctx, r.name, to)
	return err
}

// Fork starts a new run from a beginning of the execution's journal: see [Client.Fork].
func (r Run[Res]) Fork(ctx context.Context, req ForkRequest) (Run[Res], error) {
	exec, err := r.client.Fork(ctx, r.name, req)
	if err != nil {
		return Run[Res]{}, err
	}
	return Run[Res]{client: r.client, name: exec.GetName()}, nil
}

// Resolve settles a deferred of the execution with a value.
func (r Run[Res]) Resolve(ctx context.Context, deferred string, value any) error {
	return r.client.Resolve(ctx, r.name, deferred, value)
}

// Reject settles a deferred of the execution with an error: see [Client.Reject].
func (r Run[Res]) Reject(ctx context.Context, deferred, message, errorType string) error {
	return r.client.Reject(ctx, r.name, deferred, message, errorType)
}

func resultOf[Res any](exec *crusterv1.Execution) (Res, error) {
	var res Res
	if exec.GetState() != crusterv1.State_STATE_COMPLETED {
		return res, runError(exec)
	}
	if err := abi.Unmarshal(exec.GetResult().GetMsgpack(), &res); err != nil {
		return res, abi.Errorf(abi.CodeBadInput, "the result of %s does not fit %T: %v", exec.GetName(), res, err).
			WithHint("Give the client the result type that the workflow has.")
	}
	return res, nil
}

func runError(exec *crusterv1.Execution) *RunError {
	cause := rpcerror.FromProto(exec.GetError())
	if cause == nil {
		cause = abi.Errorf(abi.CodeInternal, "the host gave no reason")
	}
	return &RunError{Execution: exec.GetName(), State: StateOf(exec.GetState()), Cause: cause}
}
