package host

import (
	"context"
	"strings"
	"time"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/admission"
	"github.com/cruster/cruster/host/execution"
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
	if err := e.state.Accepting(); err != nil {
		return nil, false, err
	}
	if err := e.admission.Admit(); err != nil {
		return nil, false, err
	}
	return e.start(ctx, req, journal.Caller{})
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
	return e.start(ctx, StartRequest{
		Namespace: parent.Namespace, Workflow: workflow, Input: call.Input, Key: call.Key, KeyMode: call.KeyMode,
	}, step)
}

func (e *Engine) start(ctx context.Context, req StartRequest, parent journal.Caller) (*journal.Execution, bool, error) {
	row, err := e.prepare(ctx, req)
	if err != nil {
		return nil, false, err
	}
	row.Parent = parent
	for {
		existed, err := e.executions.Start(ctx, row)
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
	key, err := e.keys.Derive(ctx, w.Module.Code, w.WorkflowInfo, input, req.Key, req.KeyMode)
	if err != nil {
		return nil, err
	}
	run, now := journal.NewRunID(), e.clock.Now().UnixNano()
	return &journal.Execution{
		ID: journal.IDOf(namespace, req.Workflow, key), Run: run, Namespace: namespace, Workflow: req.Workflow, Key: key,
		Digest: w.Digest, Input: input, State: journal.Running, WakeAt: journal.Now, CreatedAt: now,
		Pinned: journal.Pinned{Format: journal.CurrentFormat, Memory: uint64(e.wasm.MemoryLimit()), Seed: run, Time: now},
	}, nil
}
