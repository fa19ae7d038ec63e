package launch

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/execution/request"
	"github.com/cruster/cruster/host/message"
	"github.com/cruster/cruster/host/program"
	"github.com/cruster/cruster/journal"
)

// StartRequest asks for an execution.
type StartRequest struct {
	Namespace string
	// Workflow is "deployment/Name".
	Workflow string
	// Input is the request, one msgpack value; nil if there is none.
	Input []byte
	// Key and KeyMode override the key that the workflow derives: see abi.KeyHashed and abi.KeyRaw.
	Key     string
	KeyMode string
	// IfFinished decides the case of a finished run under the key.
	IfFinished abi.IfFinished
	// RequestID makes it safe to repeat a request that starts a new run in place of a finished one:
	// the same request starts one run, for as long as that is kept. Empty means that it is not
	// repeated.
	RequestID string
}

// Start starts an execution, or finds the execution started under the same key. It returns once the start is durable;
// existed tells which.
func (l *Launcher) Start(ctx context.Context, req StartRequest) (row *journal.Execution, existed bool, err error) {
	if row, err = l.admit(ctx, req); err != nil {
		return nil, false, err
	}
	return l.deps.Executions.Starter.Launch(ctx, row, req.IfFinished, nil)
}

// Execute starts an execution, or finds the execution started under the same key, and returns it once it has ended or
// paused, or as it is after the wait; without a wait there is no bound.
func (l *Launcher) Execute(
	ctx context.Context, req StartRequest, wait time.Duration,
) (row *journal.Execution, existed bool, err error) {
	row, err = l.admit(ctx, req)
	if err != nil {
		return nil, false, err
	}
	// It is waited for from before it is there, so that there is no need to look it up.
	waiting := l.deps.Executions.Ends.Await(request.RefTo(row))
	defer waiting.Stop()
	row, existed, err = l.deps.Executions.Starter.Launch(ctx, row, req.IfFinished, nil)
	if err != nil || row.State != journal.Running {
		return row, existed, err
	}
	var ended *journal.Execution
	if existed {
		ended, err = l.deps.Executions.Ends.WaitWithin(ctx, request.RefTo(row), wait)
	} else {
		ended, err = waiting.ResultWithin(ctx, wait)
	}
	if errors.Is(err, request.ErrWaitOver) {
		return row, existed, nil
	}
	return ended, existed, err
}

// admit is prepare of a start that the host may refuse because it is full.
func (l *Launcher) admit(ctx context.Context, req StartRequest) (*journal.Execution, error) {
	if err := l.accept(); err != nil {
		return nil, err
	}
	return l.prepare(ctx, req)
}

// accept refuses a run that a client begins if the host is full, or on its way out.
func (l *Launcher) accept() error {
	if err := l.deps.Host.Accepting(); err != nil {
		return err
	}
	err := l.deps.Admission.Admit()
	l.deps.Executions.HasRoom() // if there is little, an idle one leaves
	return err
}

// prepare validates a request and makes the row of its execution. Nothing is stored.
func (l *Launcher) prepare(ctx context.Context, req StartRequest) (*journal.Execution, error) {
	origin, err := message.StartOriginOf(req.RequestID)
	if err != nil {
		return nil, err
	}
	if err := checkIfFinished(req.IfFinished); err != nil {
		return nil, err
	}
	return l.deps.Programs.Prepare(ctx, program.Request{
		Namespace: cmp.Or(req.Namespace, journal.DefaultNamespace),
		Workflow:  req.Workflow,
		Input:     req.Input,
		Key:       req.Key,
		KeyMode:   req.KeyMode,
		Origin:    origin,
	})
}

func checkIfFinished(p abi.IfFinished) error {
	switch p {
	case "", abi.ReturnFinished, abi.RestartFinished, abi.RestartFailed, abi.RefuseFinished:
		return nil
	}
	return abi.Errorf(abi.CodeBadRequest, "what to do with a finished run is %q, %q, %q or %q, not %.40q",
		abi.ReturnFinished, abi.RestartFinished, abi.RestartFailed, abi.RefuseFinished, p)
}
