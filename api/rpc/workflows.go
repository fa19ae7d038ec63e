package rpc

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/cruster/cruster/abi"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/api/rpcerror"
	"github.com/cruster/cruster/host"
	"github.com/cruster/cruster/journal"
)

const (
	defaultPage = 100
	maxPage     = 1000
	// historyStep and historyBytes keep a page of large entries from filling the
	// host's memory: it is read in steps, and ends early once it is heavy.
	historyStep  = 64
	historyBytes = 4 << 20
	// maxReason bounds why an execution is to be interrupted or failed.
	maxReason = 4 << 10
)

type workflowService struct {
	crusterv1.UnimplementedWorkflowServiceServer
	server *Server
}

var _ crusterv1.WorkflowServiceServer = (*workflowService)(nil)

func (w *workflowService) engine() Engine { return w.server.cfg.Engine }

func (w *workflowService) Start(ctx context.Context, req *crusterv1.StartRequest) (*crusterv1.StartResponse, error) {
	as, err := encodingFor(req.GetEncoding(), req.GetStart().GetInput())
	if err != nil {
		return nil, err
	}
	exec, existed, err := w.start(ctx, req.GetStart())
	if err != nil {
		return nil, err
	}
	p, err := executionToProto(exec, as)
	if err != nil {
		return nil, err
	}
	return &crusterv1.StartResponse{Execution: p, Existed: existed}, nil
}

func (w *workflowService) Execute(ctx context.Context, req *crusterv1.ExecuteRequest) (*crusterv1.ExecuteResponse, error) {
	as, err := encodingFor(req.GetEncoding(), req.GetStart().GetInput())
	if err != nil {
		return nil, err
	}
	exec, existed, err := w.start(ctx, req.GetStart())
	if err != nil {
		return nil, err
	}
	if exec.State == journal.Running {
		if exec, err = w.wait(ctx, exec.Namespace, exec.Name()); err != nil {
			return nil, err
		}
	}
	p, err := executionToProto(exec, as)
	if err != nil {
		return nil, err
	}
	return &crusterv1.ExecuteResponse{Execution: p, Existed: existed}, nil
}

// start decodes the request as its workflow wants it and starts it.
func (w *workflowService) start(ctx context.Context, opts *crusterv1.StartOptions) (*journal.Execution, bool, error) {
	ns, err := namespaceOf(opts.GetNamespace())
	if err != nil {
		return nil, false, err
	}
	input, err := w.input(ctx, ns, opts)
	if err != nil {
		return nil, false, aboutInput(opts, err)
	}
	req := host.StartRequest{Namespace: ns, Workflow: opts.GetWorkflow(), Input: input, KeyMode: abi.KeyDerived}
	switch k := opts.GetIdempotency().(type) {
	case *crusterv1.StartOptions_Key:
		req.Key, req.KeyMode = k.Key, abi.KeyHashed
	case *crusterv1.StartOptions_RawKey:
		req.Key, req.KeyMode = k.RawKey, abi.KeyRaw
	}
	exec, existed, err := w.engine().StartWorkflow(ctx, req)
	return exec, existed, aboutInput(opts, err)
}

// aboutInput says whose input does not fit, and how to look up its type: the
// schema knows only the place within the value.
func aboutInput(opts *crusterv1.StartOptions, err error) error {
	var misfit *abi.Error
	if !errors.As(err, &misfit) || misfit.Code != abi.CodeBadInput {
		return err
	}
	deployment, _, _ := strings.Cut(opts.GetWorkflow(), "/")
	about := misfit.WithHint("'cruster-host module describe %.63s' shows the type of the request.", deployment)
	about.Message = fmt.Sprintf("the input of %.150s: %s", opts.GetWorkflow(), misfit.Message)
	if opts.GetInput() == nil {
		about.Message = fmt.Sprintf("%.150s needs an input (%s)", opts.GetWorkflow(), misfit.Message)
	}
	return about
}

// input takes the request as msgpack. Only JSON needs to know its type here; the
// engine holds every request against it.
func (w *workflowService) input(ctx context.Context, namespace string, opts *crusterv1.StartOptions) ([]byte, error) {
	switch opts.GetInput().GetData().(type) {
	case nil:
		return nil, nil // the engine knows what that means
	case *crusterv1.Payload_Msgpack:
		return decode(opts.GetInput(), nil)
	}
	schema, err := w.requestSchema(ctx, namespace, opts.GetWorkflow())
	if err != nil {
		return nil, err
	}
	return decode(opts.GetInput(), schema)
}

// requestSchema finds the type of a workflow's request.
func (w *workflowService) requestSchema(ctx context.Context, namespace, workflow string) (*abi.Schema, error) {
	deployment, name, ok := strings.Cut(workflow, "/")
	if !ok || deployment == "" || name == "" {
		return nil, abi.Errorf(abi.CodeUnknownWorkflow, "%.80q is no name of a workflow", workflow)
	}
	info, err := w.engine().Deployment(ctx, namespace, deployment)
	if err != nil {
		return nil, err
	}
	var known []string
	if info.Manifest != nil {
		for i := range info.Manifest.Workflows {
			if info.Manifest.Workflows[i].Name == name {
				return info.Manifest.Workflows[i].Input, nil
			}
			known = append(known, info.Manifest.Workflows[i].Name)
		}
	}
	return nil, abi.Errorf(abi.CodeUnknownWorkflow, "the deployment %q has no workflow %.80q; it has %s", deployment, name, listOf(known))
}

// listOf names a few of many.
func listOf(names []string) string {
	const few = 10
	switch {
	case len(names) == 0:
		return "none"
	case len(names) > few:
		return strings.Join(names[:few], ", ") + ", …"
	default:
		return strings.Join(names, ", ")
	}
}

func (w *workflowService) Poll(ctx context.Context, req *crusterv1.PollRequest) (*crusterv1.PollResponse, error) {
	ns, as, err := lookup(req)
	if err != nil {
		return nil, err
	}
	exec, err := w.engine().Poll(ctx, ns, req.GetExecution())
	if err != nil {
		return nil, err
	}
	p, err := executionToProto(exec, as)
	if err != nil {
		return nil, err
	}
	return &crusterv1.PollResponse{Execution: p}, nil
}

func (w *workflowService) Wait(ctx context.Context, req *crusterv1.WaitRequest) (*crusterv1.WaitResponse, error) {
	ns, as, err := lookup(req)
	if err != nil {
		return nil, err
	}
	exec, err := w.wait(ctx, ns, req.GetExecution())
	if err != nil {
		return nil, err
	}
	p, err := executionToProto(exec, as)
	if err != nil {
		return nil, err
	}
	return &crusterv1.WaitResponse{Execution: p}, nil
}

// wait is Engine.Wait, cut short when the server is to stop.
func (w *workflowService) wait(ctx context.Context, namespace, execution string) (*journal.Execution, error) {
	ctx, cancel := w.server.untilClosing(ctx)
	defer cancel()
	return w.engine().Wait(ctx, namespace, execution)
}

// A lookupRequest names an execution and the wanted form of its payloads.
type lookupRequest interface {
	GetNamespace() string
	GetExecution() string
	GetEncoding() crusterv1.Encoding
}

func lookup(req lookupRequest) (namespace string, as crusterv1.Encoding, err error) {
	if namespace, err = target(req.GetNamespace(), req.GetExecution()); err != nil {
		return "", 0, err
	}
	as, err = encodingFor(req.GetEncoding(), nil)
	return namespace, as, err
}

func (w *workflowService) Describe(ctx context.Context, req *crusterv1.DescribeRequest) (*crusterv1.DescribeResponse, error) {
	ns, as, err := lookup(req)
	if err != nil {
		return nil, err
	}
	d, err := w.engine().Describe(ctx, ns, req.GetExecution())
	if err != nil {
		return nil, err
	}
	resp := &crusterv1.DescribeResponse{Entries: uint64(d.Entries), Resident: d.Resident}
	if resp.Execution, err = executionToProto(&d.Execution, as); err != nil {
		return nil, err
	}
	if resp.Input, err = encode(d.Input, as); err != nil {
		return nil, err
	}
	for _, op := range d.Pending {
		resp.Pending = append(resp.Pending, &crusterv1.PendingOp{
			Number:    op.Number,
			Kind:      rpcerror.Text(op.Kind),
			Name:      rpcerror.Text(op.Name),
			Key:       rpcerror.Text(op.Key),
			Since:     timestampOf(op.Since),
			DueAt:     timestampOf(op.DueAt),
			Attempt:   op.Attempt,
			LastError: rpcerror.ToProto(op.LastError),
		})
	}
	for _, s := range d.Deferreds {
		value, err := encode(s.Value, as)
		if err != nil {
			return nil, err
		}
		resp.Deferreds = append(resp.Deferreds, &crusterv1.SettledDeferred{Name: rpcerror.Text(s.Name), At: timestamp(s.At), Value: value, Error: rpcerror.ToProto(s.Error)})
	}
	return resp, nil
}

func (w *workflowService) History(ctx context.Context, req *crusterv1.HistoryRequest) (*crusterv1.HistoryResponse, error) {
	ns, as, err := lookup(req)
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
		entries, err := w.engine().History(ctx, ns, req.GetExecution(), after, step)
		if err != nil {
			return nil, err
		}
		for i := range entries {
			p, err := entryToProto(&entries[i], as)
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
	ns, err := namespaceOf(req.GetNamespace())
	if err != nil {
		return nil, err
	}
	state, err := stateFromProto(req.GetState())
	if err != nil {
		return nil, err
	}
	size, err := pageSize(req.GetPageSize())
	if err != nil {
		return nil, err
	}
	page, err := w.engine().List(ctx, journal.Filter{Namespace: ns, Workflow: req.GetWorkflow(), State: state, After: req.GetPageToken(), Limit: size})
	if err != nil {
		return nil, err
	}
	resp := &crusterv1.ListResponse{NextPageToken: page.Next}
	for i := range page.Executions {
		p, err := executionToProto(&page.Executions[i], crusterv1.Encoding_ENCODING_MSGPACK)
		if err != nil {
			return nil, err
		}
		p.Error = rpcerror.Clipped(page.Executions[i].Error)
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

func (w *workflowService) Interrupt(ctx context.Context, req *crusterv1.InterruptRequest) (*crusterv1.InterruptResponse, error) {
	ns, err := target(req.GetNamespace(), req.GetExecution())
	if err != nil {
		return nil, err
	}
	if err := checkReason(req.GetReason()); err != nil {
		return nil, err
	}
	if err := w.engine().Interrupt(ctx, ns, req.GetExecution(), req.GetReason()); err != nil {
		return nil, err
	}
	return &crusterv1.InterruptResponse{}, nil
}

func checkReason(reason string) error {
	if len(reason) > maxReason {
		return abi.Errorf(abi.CodeBadRequest, "a reason of %d bytes is over the limit of %d", len(reason), maxReason)
	}
	return nil
}

func (w *workflowService) Resume(ctx context.Context, req *crusterv1.ResumeRequest) (*crusterv1.ResumeResponse, error) {
	ns, err := target(req.GetNamespace(), req.GetExecution())
	if err != nil {
		return nil, err
	}
	if err := w.engine().Resume(ctx, ns, req.GetExecution()); err != nil {
		return nil, err
	}
	return &crusterv1.ResumeResponse{}, nil
}

func (w *workflowService) Fail(ctx context.Context, req *crusterv1.FailRequest) (*crusterv1.FailResponse, error) {
	ns, err := target(req.GetNamespace(), req.GetExecution())
	if err != nil {
		return nil, err
	}
	if err := checkReason(req.GetReason()); err != nil {
		return nil, err
	}
	if err := w.engine().Fail(ctx, ns, req.GetExecution(), req.GetReason()); err != nil {
		return nil, err
	}
	return &crusterv1.FailResponse{}, nil
}
