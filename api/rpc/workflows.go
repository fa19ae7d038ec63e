package rpc

import (
	"context"

	"github.com/cruster/cruster/api/convert"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/host"
	"github.com/cruster/cruster/journal"
)

// executionEngine is what the workflow service uses of an engine.
type executionEngine interface {
	Deployment(ctx context.Context, namespace, name string) (*host.DeploymentInfo, error)
	StartWorkflow(ctx context.Context, req host.StartRequest) (exec *journal.Execution, existed bool, err error)
	Poll(ctx context.Context, namespace, execution string) (*journal.Execution, error)
	// Wait answers when the execution is final or paused.
	Wait(ctx context.Context, namespace, execution string) (*journal.Execution, error)
	Describe(ctx context.Context, namespace, execution string) (*host.Description, error)
	History(ctx context.Context, namespace, execution string, after uint64, limit int) (entries []journal.Entry, more bool, err error)
	List(ctx context.Context, f journal.Filter) (journal.Page, error)
	Interrupt(ctx context.Context, namespace, execution, reason string) error
	Resume(ctx context.Context, namespace, execution string) error
	// Fail ends a paused execution for good.
	Fail(ctx context.Context, namespace, execution, reason string) error
	// Move has an open execution go on with another module, if that fits.
	Move(ctx context.Context, namespace, execution, to string) (*journal.Execution, error)
	// RequireWorkflow refuses a workflow or deployment that there is not.
	RequireWorkflow(ctx context.Context, namespace, workflow string) error
	// Fork starts a new run from a beginning of the journal of an execution.
	Fork(ctx context.Context, namespace, execution string, req host.ForkRequest) (*journal.Execution, error)
}

type workflowService struct {
	crusterv1.UnimplementedWorkflowServiceServer
	engine   executionEngine
	lifetime *lifetime
}

var _ crusterv1.WorkflowServiceServer = (*workflowService)(nil)

func (w *workflowService) Start(ctx context.Context, req *crusterv1.StartRequest) (*crusterv1.StartResponse, error) {
	as, err := convert.AnswerEncoding(req.GetEncoding(), req.GetStart().GetInput())
	if err != nil {
		return nil, err
	}
	exec, existed, err := w.start(ctx, req.GetStart())
	if err != nil {
		return nil, err
	}
	p, err := convert.Execution(exec, as)
	if err != nil {
		return nil, err
	}
	return &crusterv1.StartResponse{Execution: p, Existed: existed}, nil
}

func (w *workflowService) Execute(ctx context.Context, req *crusterv1.ExecuteRequest) (*crusterv1.ExecuteResponse, error) {
	as, err := convert.AnswerEncoding(req.GetEncoding(), req.GetStart().GetInput())
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
	p, err := convert.Execution(exec, as)
	if err != nil {
		return nil, err
	}
	return &crusterv1.ExecuteResponse{Execution: p, Existed: existed}, nil
}

func (w *workflowService) Poll(ctx context.Context, req *crusterv1.PollRequest) (*crusterv1.PollResponse, error) {
	ns, as, err := checkLookup(req)
	if err != nil {
		return nil, err
	}
	exec, err := w.engine.Poll(ctx, ns, req.GetExecution())
	if err != nil {
		return nil, err
	}
	p, err := convert.Execution(exec, as)
	if err != nil {
		return nil, err
	}
	return &crusterv1.PollResponse{Execution: p}, nil
}

func (w *workflowService) Wait(ctx context.Context, req *crusterv1.WaitRequest) (*crusterv1.WaitResponse, error) {
	ns, as, err := checkLookup(req)
	if err != nil {
		return nil, err
	}
	exec, err := w.wait(ctx, ns, req.GetExecution())
	if err != nil {
		return nil, err
	}
	p, err := convert.Execution(exec, as)
	if err != nil {
		return nil, err
	}
	return &crusterv1.WaitResponse{Execution: p}, nil
}

// wait is Engine.Wait, cut short when the server is to stop.
func (w *workflowService) wait(ctx context.Context, namespace, execution string) (*journal.Execution, error) {
	ctx, cancel := w.lifetime.bound(ctx)
	defer cancel()
	return w.engine.Wait(ctx, namespace, execution)
}

// A lookupRequest names an execution and the wanted form of its payloads.
type lookupRequest interface {
	GetNamespace() string
	GetExecution() string
	GetEncoding() crusterv1.Encoding
}

func checkLookup(req lookupRequest) (namespace string, as crusterv1.Encoding, err error) {
	if namespace, err = convert.Target(req.GetNamespace(), req.GetExecution()); err != nil {
		return "", 0, err
	}
	as, err = convert.AnswerEncoding(req.GetEncoding(), nil)
	return namespace, as, err
}

func (w *workflowService) Describe(ctx context.Context, req *crusterv1.DescribeRequest) (*crusterv1.DescribeResponse, error) {
	ns, as, err := checkLookup(req)
	if err != nil {
		return nil, err
	}
	d, err := w.engine.Describe(ctx, ns, req.GetExecution())
	if err != nil {
		return nil, err
	}
	return convert.Description(d, as)
}

func (w *workflowService) Interrupt(ctx context.Context, req *crusterv1.InterruptRequest) (*crusterv1.InterruptResponse, error) {
	ns, err := convert.Target(req.GetNamespace(), req.GetExecution())
	if err != nil {
		return nil, err
	}
	if err := w.engine.Interrupt(ctx, ns, req.GetExecution(), req.GetReason()); err != nil {
		return nil, err
	}
	return &crusterv1.InterruptResponse{}, nil
}

func (w *workflowService) Resume(ctx context.Context, req *crusterv1.ResumeRequest) (*crusterv1.ResumeResponse, error) {
	ns, err := convert.Target(req.GetNamespace(), req.GetExecution())
	if err != nil {
		return nil, err
	}
	if err := w.engine.Resume(ctx, ns, req.GetExecution()); err != nil {
		return nil, err
	}
	return &crusterv1.ResumeResponse{}, nil
}

func (w *workflowService) Fail(ctx context.Context, req *crusterv1.FailRequest) (*crusterv1.FailResponse, error) {
	ns, err := convert.Target(req.GetNamespace(), req.GetExecution())
	if err != nil {
		return nil, err
	}
	if err := w.engine.Fail(ctx, ns, req.GetExecution(), req.GetReason()); err != nil {
		return nil, err
	}
	return &crusterv1.FailResponse{}, nil
}
