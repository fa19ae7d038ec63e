package grpcserver

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/api/convert"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/api/payload"
	"github.com/cruster/cruster/host"
	"github.com/cruster/cruster/journal"
)

// starter is a way of the engine to start a workflow.
type starter func(ctx context.Context, req host.StartRequest) (exec *journal.Execution, existed bool, err error)

// start decodes the request as its workflow wants it and starts it.
func (w *workflowService) start(
	ctx context.Context, opts *crusterv1.StartOptions, by starter,
) (*journal.Execution, bool, error) {
	ns, err := convert.Namespace(opts.GetNamespace())
	if err != nil {
		return nil, false, err
	}
	ifFinished, err := convert.IfFinished(opts.GetIfFinished())
	if err != nil {
		return nil, false, err
	}
	input, err := w.decodeInput(ctx, ns, opts)
	if err != nil {
		return nil, false, explainMisfit(opts, err)
	}
	req := host.StartRequest{
		Namespace:  ns,
		Workflow:   opts.GetWorkflow(),
		Input:      input,
		KeyMode:    abi.KeyDerived,
		IfFinished: ifFinished,
		RequestID:  opts.GetRequestId(),
	}
	switch k := opts.GetIdempotency().(type) {
	case *crusterv1.StartOptions_Key:
		req.Key, req.KeyMode = k.Key, abi.KeyHashed
	case *crusterv1.StartOptions_RawKey:
		req.Key, req.KeyMode = k.RawKey, abi.KeyRaw
	}
	exec, existed, err := by(ctx, req)
	return exec, existed, explainMisfit(opts, err)
}

// explainMisfit adds to the error of an input that does not fit which workflow it was for, and how to look up its type:
// the schema knows only the place within the value.
func explainMisfit(opts *crusterv1.StartOptions, err error) error {
	if opts.GetInput() == nil {
		return explainInputOf(opts.GetWorkflow(), "%.150s needs an input (%s)", err)
	}
	return explainInputOf(opts.GetWorkflow(), "the input of %.150s: %s", err)
}

// explainInputOf is explainMisfit in words for the name of the workflow and the misfit.
func explainInputOf(workflow, words string, err error) error {
	var misfit *abi.Error
	if !errors.As(err, &misfit) || misfit.Code != abi.CodeBadInput {
		return err
	}
	deployment, _, _ := strings.Cut(workflow, "/")
	about := withHint(
		misfit, fmt.Sprintf("'cruster-host module describe %.63s' shows the type of the request.", deployment),
	)
	about.Message = fmt.Sprintf(words, workflow, misfit.Message)
	return about
}

// withHint is an input that does not fit, with a hint on its type. An input that is no JSON has its own.
func withHint(misfit *abi.Error, hint string) *abi.Error {
	if misfit.Hint == payload.HintOnQuotes {
		hint = misfit.Hint
	}
	return misfit.WithHint("%s", hint)
}

// decodeInput returns the request as msgpack; nil if there is none.
func (w *workflowService) decodeInput(
	ctx context.Context, namespace string, opts *crusterv1.StartOptions,
) ([]byte, error) {
	return convert.DecodeTyped(opts.GetInput(), func() (*abi.Schema, error) {
		info, err := w.workflowInfo(ctx, namespace, opts.GetWorkflow())
		if err != nil {
			return nil, err
		}
		return info.Input, nil
	})
}

// workflowInfo finds the types of a workflow.
func (w *workflowService) workflowInfo(ctx context.Context, namespace, workflow string) (*abi.WorkflowInfo, error) {
	deployment, name, ok := strings.Cut(workflow, "/")
	if !ok || deployment == "" || name == "" {
		return nil, abi.Errorf(abi.CodeUnknownWorkflow, "%.80q is not a valid name of a workflow", workflow)
	}
	info, err := w.engine.Deployments.Describe(ctx, namespace, deployment)
	if err != nil {
		return nil, err
	}
	manifest := info.Manifest
	if manifest == nil {
		manifest = &abi.Manifest{}
	}
	return manifest.Workflow(deployment, name)
}
