package rpc

import (
	"context"

	"google.golang.org/protobuf/proto"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/api/convert"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/journal"
)

const (
	defaultPage = 100
	maxPage     = 1000
	// historyStep and historyBytes keep a page of large entries from filling the
	// host's memory: it is read in steps, and ends early once it is heavy.
	historyStep  = 64
	historyBytes = 4 << 20
)

func (w *workflowService) History(ctx context.Context, req *crusterv1.HistoryRequest) (*crusterv1.HistoryResponse, error) {
	ns, as, err := checkLookup(req)
	if err != nil {
		return nil, err
	}
	size, err := pageSize(req.GetPageSize())
	if err != nil {
		return nil, err
	}
	resp := &crusterv1.HistoryResponse{}
	after, bytes := req.GetAfter(), 0
	for len(resp.GetEntries()) < size {
		step := min(historyStep, size-len(resp.GetEntries()))
		entries, err := w.engine.History(ctx, ns, req.GetExecution(), after, step)
		if err != nil {
			return nil, err
		}
		for i := range entries {
			p, err := convert.Entry(&entries[i], as)
			if err != nil {
				return nil, err
			}
			resp.Entries = append(resp.Entries, p)
			after, bytes = entries[i].Seq, bytes+proto.Size(p)
		}
		if len(entries) < step {
			return resp, nil
		}
		if bytes > historyBytes {
			break
		}
	}
	resp.Next = after
	return resp, nil
}

func (w *workflowService) List(ctx context.Context, req *crusterv1.ListRequest) (*crusterv1.ListResponse, error) {
	ns, err := convert.Namespace(req.GetNamespace())
	if err != nil {
		return nil, err
	}
	state, err := convert.StateFilter(req.GetState())
	if err != nil {
		return nil, err
	}
	size, err := pageSize(req.GetPageSize())
	if err != nil {
		return nil, err
	}
	page, err := w.engine.List(ctx, journal.Filter{Namespace: ns, Workflow: req.GetWorkflow(), State: state, After: req.GetPageToken(), Limit: size})
	if err != nil {
		return nil, err
	}
	resp := &crusterv1.ListResponse{NextPageToken: page.Next}
	for i := range page.Executions {
		p, err := convert.ListedExecution(&page.Executions[i])
		if err != nil {
			return nil, err
		}
		resp.Executions = append(resp.Executions, p)
	}
	return resp, nil
}

func pageSize(size int32) (int, error) {
	switch {
	case size == 0:
		return defaultPage, nil
	case size < 0 || size > maxPage:
		return 0, abi.Errorf(abi.CodeBadRequest, "a page of %d is not between 1 and %d", size, maxPage)
	default:
		return int(size), nil
	}
}
