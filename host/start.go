package host

import (
	"context"
	"strings"
	"time"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/admission"
	"github.com/cruster/cruster/host/execution"
	"github.com/cruster/cruster/host/guest"
	"github.com/cruster/cruster/host/message"
	"github.com/cruster/cruster/journal"
)

// StartRequest asks for an execution.
type StartRequest struct {
	Namespace string
	// Workflow is "deployment/Name".
	Workflow string
	// Input is the request, one msgpack value; nil if there is none.
	Input []byte
	// Key and KeyMode override the key that the workflow derives: see
	// abi.KeyHashed and abi.KeyRaw.
	Key     string
	KeyMode string
}

// Overloaded is the error of a host that is full.
type Overloaded = admission.Overloaded

// RetryDelay is the delay that an overloaded host asked for; 0 if err is something
// else.
func RetryDelay(err error) time.Duration { return admission.RetryDelay(err) }

// StartWorkflow starts an execution, or finds the one that was started under the
// same key. It returns once the start is durable; existed tells which.
func (e *Engine) StartWorkflow(ctx context.Context, req StartRequest) (row *journal.Execution, existed bool, err error) {
	if row, err = e.admit(ctx, req); err != nil {
		return nil, false, err
	}
	return e.start(ctx, row, nil)
}

// ExecuteWorkflow starts an execution, or finds the one that was started under the same
// key, and returns it once it is over or paused.
func (e *Engine) ExecuteWorkflow(ctx context.Context, req StartRequest) (row *journal.Execution, existed bool, err error) {
	row, err = e.admit(ctx, req)
	if err != nil {
		return nil, false, err
	}
	// It is waited for from before it is there, so that there is no need to look it up.
	waiting := e.executions.AwaitEnd(execution.RefTo(row))
	defer waiting.Stop()
	row, existed, err = e.start(ctx, row, nil)
	switch {
	case err != nil || row.State != journal.Running:
	case existed:
		row, err = e.executions.Wait(ctx, execution.RefTo(row))
	default:
		row, err = waiting.Result(ctx)
	}
	return row, existed, err
}

// admit is prepare of a start that the host may refuse because it is full.
func (e *Engine) admit(ctx context.Context, req StartRequest) (*journal.Execution, error) {
	if err := e.state.Accepting(); err != nil {
		return nil, err
	}
	if err := e.admission.Admit(); err != nil {
		return nil, err
	}
	return e.prepare(ctx, req)
}

// startChild starts an execution for a step of another. It is not refused when the
// host is full: the parent must be able to finish.
func (e *Engine) startChild(ctx context.Context, parent *journal.Execution, step journal.Caller, call *abi.Call) (*journal.Execution, bool, error) {
	if err := e.state.Accepting(); err != nil {
		return nil, false, err
	}
	workflow := call.Workflow
	if !strings.Contains(workflow, "/") {
		deployment, _, _ := strings.Cut(parent.Workflow, "/")
		workflow = deployment + "/" + workflow
	}
	row, err := e.prepare(ctx, StartRequest{
		Namespace: parent.Namespace, Workflow: workflow, Input: call.Input, Key: call.Key, KeyMode: call.KeyMode,
	})
	if err != nil {
		return nil, false, err
	}
	row.Parent, row.Pinned.OnCancel = step, call.OnCancel
	return e.start(ctx, row, nil)
}

// start makes a row durable, and a signal with it if there is one, unless there is a row with
// its name: then it returns that.
func (e *Engine) start(ctx context.Context, row *journal.Execution, with *message.Signal) (*journal.Execution, bool, error) {
	for {
		existed, err := e.executions.Start(ctx, row, with)
		if err != nil {
			return nil, false, err
		}
		if !existed {
			return row, false, nil
		}
		found, err := e.executions.Load(ctx, execution.Ref{ID: row.ID, Name: row.Name()})
		if abi.CodeOf(err) != abi.CodeExecutionNotFound {
			return found, true, err
		}
		// Retention has deleted it since it was found.
	}
}

// prepare validates a request and makes the row of its execution. Nothing is
// stored.
func (e *Engine) prepare(ctx context.Context, req StartRequest) (*journal.Execution, error) {
	namespace := namespaceOf(req.Namespace)
	w, err := e.catalog.Workflow(ctx, namespace, req.Workflow)
	if err != nil {
		return nil, err
	}
	input, err := w.CheckRequest(req.Input)
	if err != nil {
		return nil, err
	}
	key, err := e.keys.Derive(ctx, guest.KeyRequest{
		Namespace: namespace, Code: w.Module.Code, Workflow: w.WorkflowInfo, Input: input, Given: req.Key, Mode: req.KeyMode,
	})
	if err != nil {
		return nil, err
	}
	run, now, pinned := journal.NewRunID(), e.clock.Now().UnixNano(), e.pinned()
	pinned.Seed, pinned.Time = run, now
	return &journal.Execution{
		ID: journal.IDOf(namespace, req.Workflow, key), Run: run, Chain: run, Namespace: namespace, Workflow: req.Workflow, Key: key,
		Digest: w.Digest, Input: input, State: journal.Running, WakeAt: journal.Now, CreatedAt: now,
		Pinned: pinned,
	}, nil
}
