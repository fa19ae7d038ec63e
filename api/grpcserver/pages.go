package grpcserver

import (
	"context"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/api/convert"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/journal"
)

const (
	defaultPage = 100
	maxPage     = 1000
	// maxMessage bounds a page as it is sent: a gRPC client that was not told otherwise refuses messages of more than 4
	// MiB. A value that is as large as values may be fits as msgpack, with all that is around it.
	maxMessage = 4<<20 - 1<<10
)

func (w *workflowService) ListHistory(
	ctx context.Context, req *crusterv1.ListHistoryRequest,
) (*crusterv1.ListHistoryResponse, error) {
	ns, as, err := checkLookup(req)
	if err != nil {
		return nil, err
	}
	size, err := pageSize(req.GetPageSize())
	if err != nil {
		return nil, err
	}
	if err := arrivalOf(ctx).admitAnswer(ctx, pageCopies*maxMessage); err != nil {
		return nil, err
	}
	resp := &crusterv1.ListHistoryResponse{}
	room := journal.PageLimit{Entries: size, Bytes: maxMessage}.Room()
	for after, more := req.GetAfter(), true; more; {
		var entries []journal.Entry
		left, _ := room.Left()
		if entries, more, err = w.engine.Observer.HistoryRun(
			ctx, ns, req.GetExecution(), req.GetRunId(), after, left,
		); err != nil {
			if abi.CodeOf(err) == abi.CodeHostFault && len(resp.GetEntries()) > 0 {
				resp.Next = after // entries before the damage are a page; the next tells of it
				return resp, nil
			}
			return nil, err
		}
		for i := range entries {
			p, err := historyEntry(&entries[i], as)
			if err != nil {
				return nil, err
			}
			if !room.Take(sizeInList(p)) {
				resp.Next = after
				return resp, nil
			}
			resp.Entries = append(resp.Entries, p)
			after = p.GetSeq()
		}
		if left, _ = room.Left(); more && left == 0 {
			resp.Next = after
			return resp, nil
		}
	}
	return resp, nil
}

// historyEntry makes a message of an entry. JSON may have many times the bytes of msgpack: a value that is too large
// for a message is left out.
func historyEntry(e *journal.Entry, as crusterv1.Encoding) (*crusterv1.HistoryEntry, error) {
	p, err := convert.Entry(e, as)
	if err == nil && sizeInList(p) > maxMessage {
		p.Value, p.OmittedBytes = nil, uint64(len(e.Value))
	}
	return p, err
}

// sizeInList is how many bytes a message takes as one of many.
func sizeInList(m proto.Message) int {
	const header = 6 // the number of the field, and the length
	return header + proto.Size(m)
}

func (w *workflowService) ListExecutions(
	ctx context.Context, req *crusterv1.ListExecutionsRequest,
) (*crusterv1.ListExecutionsResponse, error) {
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
	where, err := w.conditions(ctx, ns, req)
	if err != nil {
		return nil, err
	}
	if err := arrivalOf(ctx).admitAnswer(ctx, pageCopies*maxMessage); err != nil {
		return nil, err
	}
	page, err := w.engine.Observer.List(ctx, journal.Filter{
		Namespace: ns, Workflow: req.GetWorkflow(), State: state, Where: where, After: req.GetPageToken(), Limit: size,
	})
	if err != nil {
		return nil, err
	}
	if len(page.Executions) == 0 && req.GetPageToken() == "" && req.GetWorkflow() != "" {
		if err := w.requireListed(ctx, ns, req.GetWorkflow()); err != nil {
			return nil, err
		}
	}
	outlines, err := w.engine.Observer.Outlines(ctx, page.Executions)
	if err != nil {
		return nil, err
	}
	resp := &crusterv1.ListExecutionsResponse{NextPageToken: page.Next}
	room := journal.PageLimit{Entries: size, Bytes: maxMessage}.Room()
	for i := range page.Executions {
		p, err := listed(&page.Executions[i], outlines[page.Executions[i].ID])
		if err != nil {
			return nil, err
		}
		if !room.Take(sizeInList(p)) {
			resp.NextPageToken = journal.CursorOf(&page.Executions[i-1])
			break
		}
		resp.Executions = append(resp.Executions, p)
	}
	return resp, nil
}

// requireListed refuses to answer with an empty list where the name is wrong.
func (w *workflowService) requireListed(ctx context.Context, namespace, workflow string) error {
	if !strings.Contains(workflow, "/") {
		return convert.WorkflowGroup(workflow)
	}
	return w.engine.Observer.RequireWorkflow(ctx, namespace, workflow)
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
