package program

import (
	"context"
	"strings"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/guest"
	"github.com/cruster/cruster/journal"
)

// Request asks for the row of a new execution.
type Request struct {
	Namespace string
	// Workflow is "deployment/Name".
	Workflow string
	// Input is the request, one msgpack value; nil if there is none.
	Input []byte
	// Key and KeyMode override the key that the workflow derives: see abi.KeyHashed and abi.KeyRaw.
	Key     string
	KeyMode string
	// Origin is the request that starts the run, if it may be repeated.
	Origin journal.Origin
}

// CallOf is the request of code of a deployment that calls a workflow.
func CallOf(namespace, deployment string, call *abi.Call) Request {
	workflow := call.Workflow
	if !strings.Contains(workflow, "/") {
		workflow = deployment + "/" + workflow
	}
	return Request{Namespace: namespace, Workflow: workflow, Input: call.Input, Key: call.Key, KeyMode: call.KeyMode}
}

// Prepare makes the row of a new execution, with the code that its deployment has now, and the
// input and the key as this has them. Nothing is stored.
func (p *Programs) Prepare(ctx context.Context, req Request) (*journal.Execution, error) {
	w, err := p.Catalog.Workflow(ctx, req.Namespace, req.Workflow)
	if err != nil {
		return nil, err
	}
	input, err := w.CheckRequest(req.Input)
	if err != nil {
		return nil, err
	}
	key, err := p.Keys.Derive(ctx, guest.KeyRequest{
		Namespace: req.Namespace,
		Code:      w.Module.Code,
		Workflow:  w.WorkflowInfo,
		Input:     input,
		Given:     req.Key,
		Mode:      req.KeyMode,
	})
	if err != nil {
		return nil, err
	}
	row := p.NewRun(req.Namespace, req.Workflow, key, req.Origin)
	row.Digest, row.Input = w.Digest, input
	return row, nil
}

// CheckInput refuses a workflow that there is not and an input that does not fit, and returns the
// input as it is stored.
func (p *Programs) CheckInput(ctx context.Context, req Request) ([]byte, error) {
	w, err := p.Catalog.Workflow(ctx, req.Namespace, req.Workflow)
	if err != nil {
		return nil, err
	}
	return w.CheckRequest(req.Input)
}

// NewRun is the row of a run that begins now, without its code and its input.
func (p *Programs) NewRun(namespace, workflow, key string, request journal.Origin) *journal.Execution {
	run, now, pinned := journal.NewRunID(), p.Clock.Now().UnixNano(), p.pinned()
	pinned.Seed, pinned.Time = run, now
	return &journal.Execution{
		ID:        journal.IDOf(namespace, workflow, key),
		Run:       run,
		Chain:     run,
		Namespace: namespace,
		Workflow:  workflow,
		Key:       key,
		State:     journal.Running,
		WakeAt:    journal.Now,
		CreatedAt: now,
		Pinned:    pinned,
		Request:   request,
	}
}

// Callee makes the row of an execution that a step of another calls. Awaited says that it is to send
// its result.
func (p *Programs) Callee(
	ctx context.Context, caller *journal.Execution, step journal.Caller, call *abi.Call, awaited bool,
) (*journal.Execution, error) {
	deployment, _, _ := strings.Cut(caller.Workflow, "/")
	row, err := p.Prepare(ctx, CallOf(caller.Namespace, deployment, call))
	if err != nil {
		return nil, err
	}
	row.Parent, row.Pinned.OnCancel = step, call.OnCancel
	if awaited {
		row.Pinned.ReplyTo = &caller.Chain
	}
	return row, nil
}

// Continuation says how an execution goes on as another run: with the code that its deployment has now, and with the
// input as it is stored. If the deployment does not have the workflow any more, or takes another input, the execution
// goes on with the code that it has, as every execution does that no one moves. An input that does not fit that either
// is an error of abi.CodeBadInput.
func (p *Programs) Continuation(
	ctx context.Context, row *journal.Execution, input []byte,
) (next journal.Continuation, err error) {
	next.Pinned = p.pinned()
	current, err := p.Catalog.Workflow(ctx, row.Namespace, row.Workflow)
	switch code := abi.CodeOf(err); {
	case err == nil:
		if next.Input, err = current.CheckRequest(input); err == nil || row.Digest == current.Digest {
			next.Digest = current.Digest
			return next, err
		}
		p.Logger.Warn(
			"an execution continues on the code that it has: what is deployed takes another input", "execution",
			row.Name(), "error", err,
		)
	case code != abi.CodeUnknownWorkflow && code != abi.CodeDeploymentNotFound:
		return next, err
	}
	own, err := p.Workflow(ctx, row)
	if err != nil {
		return next, err
	}
	next.Digest = row.Digest
	next.Input, err = own.CheckRequest(input)
	return next, err
}

// pinned returns the settings with which a run that begins now is replayed.
func (p *Programs) pinned() journal.Pinned {
	return journal.Pinned{Format: journal.CurrentFormat, Memory: p.MemoryLimit}
}
