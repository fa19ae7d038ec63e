package grpcserver

import (
	"context"
	"strings"

	"github.com/cruster/cruster/api/convert"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/journal"
)

func (w *workflowService) GetExecutionState(
	ctx context.Context, req *crusterv1.GetExecutionStateRequest,
) (*crusterv1.GetExecutionStateResponse, error) {
	ns, as, err := checkLookup(req)
	if err != nil {
		return nil, err
	}
	row, err := w.engine.Observer.Poll(ctx, ns, req.GetExecution())
	if err != nil {
		return nil, err
	}
	if req.GetName() != "" {
		info, err := w.engine.Observer.WorkflowOf(ctx, ns, req.GetExecution())
		if err != nil {
			return nil, err
		}
		if _, err := info.PublishedState(req.GetName()); err != nil {
			return nil, err
		}
	}
	published, err := w.engine.Observer.Published(ctx, row)
	if err != nil {
		return nil, err
	}
	resp := &crusterv1.GetExecutionStateResponse{
		Attributes: convert.Attributes(published),
		Progress:   convert.Progress(published),
		UpdateTime: convert.PublishedAt(published),
	}
	resp.State, err = convert.PublishedState(published, req.GetName(), as)
	return resp, err
}

// listed makes a message of an execution in a list; published is nil if it has published nothing.
func listed(row *journal.Execution, published *journal.Published) (*crusterv1.Execution, error) {
	p, err := convert.ListedExecution(row)
	if err == nil && published != nil {
		p.Attributes, p.Progress = convert.Attributes(published), convert.Progress(published)
	}
	return p, err
}

// conditions reads the conditions of a list. If it is about one workflow, that tells the types of attributes.
func (w *workflowService) conditions(
	ctx context.Context, namespace string, req *crusterv1.ListExecutionsRequest,
) ([]journal.Condition, error) {
	return convert.Conditions(req.GetWhere(), func(attribute string) (string, error) {
		if _, name, _ := strings.Cut(req.GetWorkflow(), "/"); name == "" {
			return "", nil
		}
		info, err := w.workflowInfo(ctx, namespace, req.GetWorkflow())
		if err != nil {
			return "", err
		}
		a, err := info.Attribute(attribute)
		if err != nil {
			return "", err
		}
		return a.Type, nil
	})
}
