package control

import (
	"context"

	"github.com/cruster/cruster/host/execution/request"
	"github.com/cruster/cruster/host/message"
	"github.com/cruster/cruster/journal"
)

// Signal sends a signal to an execution. It returns once the signal is durable; the workflow receives it when it asks
// for it.
func (x *Executions) Signal(ctx context.Context, namespace, name string, req message.SignalRequest) error {
	if err := x.deps.Admission.AdmitMessage(); err != nil {
		return err
	}
	s, err := req.Signal()
	if err != nil {
		return err
	}
	return x.deps.Observer.WithRef(ctx, namespace, name, func(ref request.Ref) error {
		return x.deps.Executions.Messages.Signal(ctx, ref, *s)
	})
}

// Settle resolves (Value, nil if it was left out) or rejects (Error) a deferred of an execution,
// from outside, if its workflow has such a deferred and the value fits. It returns once that is
// durable; if the deferred was settled before, the first settlement stands and the error says so. A
// settlement that names its origin may be repeated: the same one is not another.
func (x *Executions) Settle(ctx context.Context, namespace, name string, d journal.Deferred) error {
	if err := x.deps.Admission.AdmitMessage(); err != nil {
		return err
	}
	return x.deps.Observer.WithRef(ctx, namespace, name, func(ref request.Ref) error {
		return x.deps.Executions.Messages.Settle(ctx, ref, d)
	})
}

// Interrupt asks an execution to stop. It returns once the request is durable; the execution then runs its cleanup.
func (x *Executions) Interrupt(ctx context.Context, namespace, name, reason string) error {
	return x.deps.Observer.WithRef(ctx, namespace, name, func(ref request.Ref) error {
		return x.deps.Executions.Messages.Interrupt(ctx, ref, reason)
	})
}

// ResumeToStop asks an execution to stop, as Interrupt does, and lets a paused execution go on for
// that: in one step, so that it cleans up and ends.
func (x *Executions) ResumeToStop(ctx context.Context, namespace, name, reason string) error {
	return x.deps.Observer.WithRef(ctx, namespace, name, func(ref request.Ref) error {
		return x.deps.Executions.Operator.ResumeToStop(ctx, ref, reason)
	})
}

// Terminate ends an execution at once. Its guest does not run again, so that nothing can keep it from ending and
// nothing is cleaned up. It returns once that is durable.
func (x *Executions) Terminate(ctx context.Context, namespace, name, reason string) error {
	return x.deps.Observer.WithRef(ctx, namespace, name, func(ref request.Ref) error {
		return x.deps.Executions.Stops.Terminate(ctx, ref, reason)
	})
}

// Resume lets a paused execution go on.
func (x *Executions) Resume(ctx context.Context, namespace, name string) error {
	return x.deps.Observer.WithRef(ctx, namespace, name, func(ref request.Ref) error {
		return x.deps.Executions.Operator.Resume(ctx, ref)
	})
}

// Fail ends a paused execution for good. Its guest does not run again, so that it works whatever keeps the guest from
// running. It returns once the failure is durable.
func (x *Executions) Fail(ctx context.Context, namespace, name, reason string) error {
	return x.deps.Observer.WithRef(ctx, namespace, name, func(ref request.Ref) error {
		return x.deps.Executions.Operator.Fail(ctx, ref, reason)
	})
}

// Move has a running or paused execution go on with another module: [program.Latest] or a digest. Its journal is
// replayed on that module first. If it does not fit, nothing is changed and the error (abi.CodeDoesNotFit) shows both
// sides; if it fits, the execution goes on there, also if it was paused.
func (x *Executions) Move(ctx context.Context, namespace, name, to string) (*journal.Execution, error) {
	row, err := x.deps.Observer.Poll(ctx, namespace, name)
	if err != nil {
		return nil, err
	}
	digest, err := x.deps.Programs.ModuleFor(ctx, row, to)
	if err != nil {
		return nil, err
	}
	if err := x.deps.Executions.Operator.Move(ctx, request.RefTo(row), digest); err != nil {
		return nil, err
	}
	return x.deps.Observer.Poll(ctx, namespace, name)
}
