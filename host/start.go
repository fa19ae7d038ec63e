package host

import (
	"context"
	"strings"
	"time"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/admission"
	"github.com/cruster/cruster/host/execution"
	"github.com/cruster/cruster/host/guest"
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
	// IfFinished decides the case of a finished run under the key.
	IfFinished IfFinished
	// RequestID makes it safe to repeat a request that starts a new run in place of a finished one:
	// the same request starts one run, for as long as that is kept. Empty means that it is not
	// repeated.
	RequestID string
}

// Overloaded is the error of a host that is full.
type Overloaded = admission.Overloaded

// RetryDelay is the delay that an overloaded host asked for; 0 if err is something
// else.
func RetryDelay(err error) time.Duration { return admission.RetryDelay(err) }

// StartWorkflow starts an execution, or finds the execution started under the same key. It returns
// once the start is durable; existed tells which.
func (e *Engine) StartWorkflow(ctx context.Context, req StartRequest) (row *journal.Execution, existed bool, err error) {
	if row, err = e.admit(ctx, req); err != nil {
		return nil, false, err
	}
	return e.start(ctx, row, req.IfFinished, nil)
}

// ExecuteWorkflow starts an execution, or finds the execution started under the same key, and
// returns it once it has ended or paused.
func (e *Engine) ExecuteWorkflow(ctx context.Context, req StartRequest) (row *journal.Execution, existed bool, err error) {
	row, err = e.admit(ctx, req)
	if err != nil {
		return nil, false, err
	}
	// It is waited for from before it is there, so that there is no need to look it up.
	waiting := e.executions.AwaitEnd(execution.RefTo(row))
	defer waiting.Stop()
	row, existed, err = e.start(ctx, row, req.IfFinished, nil)
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
func (e *Engine) startChild(ctx context.Context, parent *journal.Execution, step journal.Caller, call *abi.Call, awaited bool) (*journal.Execution, bool, error) {
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
	e.admission.HasRoom() // if not, an idle one leaves
	row.Parent, row.Pinned.OnCancel = step, call.OnCancel
	if awaited {
		row.Pinned.ReplyTo = &parent.Chain
	}
	found, existed, err := e.start(ctx, row, abi.ReturnFinished, nil)
	if err == nil && existed && calledBefore(parent, found) {
		return e.start(ctx, row, abi.RestartFailed, nil)
	}
	return found, existed, err
}

// calledBefore tells whether a finished execution was started by an earlier run of a restarted
// parent: not by a run that the parent continues. Completed work of that run stands. Work that
// failed with it, or was stopped because of it, is to be done again; otherwise the new run would
// fail like the one before. The callee that the new run starts in its place is its own, so a step
// that is performed twice starts it over once.
func calledBefore(parent, callee *journal.Execution) bool {
	return parent.Run == parent.Chain && callee.State.Final() && callee.State != journal.Completed &&
		callee.Parent.ID == parent.ID && callee.Parent.Run != parent.Run
}

// prepare validates a request and makes the row of its execution. Nothing is
// stored.
func (e *Engine) prepare(ctx context.Context, req StartRequest) (*journal.Execution, error) {
	namespace := namespaceOf(req.Namespace)
	request, err := startOrigin(req.RequestID)
	if err != nil {
		return nil, err
	}
	if err := checkIfFinished(req.IfFinished); err != nil {
		return nil, err
	}
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
	row := e.newRun(namespace, req.Workflow, key, request)
	row.Digest, row.Input = w.Digest, input
	return row, nil
}

// newRun is the row of a run that begins now, without its code and its input.
func (e *Engine) newRun(namespace, workflow, key string, request journal.Origin) *journal.Execution {
	run, now, pinned := journal.NewRunID(), e.clock.Now().UnixNano(), e.pinned()
	pinned.Seed, pinned.Time = run, now
	return &journal.Execution{
		ID: journal.IDOf(namespace, workflow, key), Run: run, Chain: run, Namespace: namespace, Workflow: workflow, Key: key,
		State: journal.Running, WakeAt: journal.Now, CreatedAt: now, Pinned: pinned, Request: request,
	}
}
