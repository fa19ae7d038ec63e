package host

import (
	"context"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/execution"
	"github.com/cruster/cruster/journal"
)

// Settle resolves (Value, nil if it was left out) or rejects (Error) a deferred of an
// execution, from outside, if its workflow has such a deferred and the value fits. It returns once that is durable; if the deferred was settled before, the
// first settlement stands and the error says so. A settlement that names its origin
// may be repeated: the same one is not another.
func (e *Engine) Settle(ctx context.Context, namespace, name string, d journal.Deferred) error {
	if err := e.admission.AdmitMessage(); err != nil {
		return err
	}
	return e.withRef(ctx, namespace, name, func(ref execution.Ref) error { return e.executions.Settle(ctx, ref, d) })
}

// Interrupt asks an execution to stop. It returns once the request is durable; the
// execution then runs its cleanup.
func (e *Engine) Interrupt(ctx context.Context, namespace, name, reason string) error {
	return e.withRef(ctx, namespace, name, func(ref execution.Ref) error { return e.executions.Interrupt(ctx, ref, reason) })
}

// ResumeToStop asks an execution to stop, as Interrupt does, and lets a paused execution go on for
// that: in one step, so that it cleans up and ends.
func (e *Engine) ResumeToStop(ctx context.Context, namespace, name, reason string) error {
	return e.withRef(ctx, namespace, name, func(ref execution.Ref) error { return e.executions.ResumeToStop(ctx, ref, reason) })
}

// Terminate ends an execution at once. Its guest does not run again, so that nothing can keep it from ending and
// nothing is cleaned up. It returns once that is durable.
func (e *Engine) Terminate(ctx context.Context, namespace, name, reason string) error {
	return e.withRef(ctx, namespace, name, func(ref execution.Ref) error { return e.executions.Terminate(ctx, ref, reason) })
}

// Resume lets a paused execution go on.
func (e *Engine) Resume(ctx context.Context, namespace, name string) error {
	return e.withRef(ctx, namespace, name, func(ref execution.Ref) error { return e.executions.Resume(ctx, ref) })
}

// Fail ends a paused execution for good. Its guest does not run again, so that it
// works whatever keeps the guest from running. It returns once the failure is
// durable.
func (e *Engine) Fail(ctx context.Context, namespace, name, reason string) error {
	return e.withRef(ctx, namespace, name, func(ref execution.Ref) error { return e.executions.Fail(ctx, ref, reason) })
}

// Wait returns the brief row of the execution once it has ended or paused.
func (e *Engine) Wait(ctx context.Context, namespace, name string) (row *journal.Execution, err error) {
	err = e.withRef(ctx, namespace, name, func(ref execution.Ref) error {
		row, err = e.executions.Wait(ctx, ref)
		return err
	})
	return row, err
}

// Whole is a row with its input and its value, which are read if it is brief.
func (e *Engine) Whole(ctx context.Context, row *journal.Execution) (*journal.Execution, error) {
	return e.executions.Whole(ctx, row)
}

// Poll reads the brief row of an execution as it is.
func (e *Engine) Poll(ctx context.Context, namespace, name string) (row *journal.Execution, err error) {
	err = e.withRef(ctx, namespace, name, func(ref execution.Ref) error {
		row, err = e.executions.Load(ctx, ref)
		return err
	})
	return row, err
}

func (e *Engine) withRef(ctx context.Context, namespace, name string, f func(execution.Ref) error) error {
	namespace = namespaceOf(namespace)
	ref, err := execution.RefOf(namespace, name)
	if err != nil {
		return err
	}
	if err = f(ref); abi.CodeOf(err) != abi.CodeExecutionNotFound {
		return err
	}
	// A deployment or a workflow that there is not is the likely mistake.
	workflow, _, _ := journal.ParseName(name)
	missing := e.catalog.CheckWorkflow(ctx, namespace, workflow)
	if code := abi.CodeOf(missing); code == abi.CodeDeploymentNotFound || code == abi.CodeUnknownWorkflow {
		return abi.Errorf(abi.CodeExecutionNotFound, "%s: %s", abi.AsError(err).Message, abi.AsError(missing).Message)
	}
	return err
}
