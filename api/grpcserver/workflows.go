package grpcserver

import (
	"context"
	"math"
	"time"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/api/convert"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/host"
	"github.com/cruster/cruster/journal"
)

type workflowService struct {
	crusterv1.UnimplementedWorkflowServiceServer
	engine   *Engine
	lifetime *lifetime
}

var _ crusterv1.WorkflowServiceServer = (*workflowService)(nil)

func (w *workflowService) StartExecution(
	ctx context.Context, req *crusterv1.StartExecutionRequest,
) (*crusterv1.StartExecutionResponse, error) {
	as, err := convert.AnswerEncoding(req.GetEncoding(), req.GetStart().GetInput())
	if err != nil {
		return nil, err
	}
	wait, err := waitOf(req.GetWait(), 0)
	if err != nil {
		return nil, err
	}
	by := w.engine.Launcher.Start
	if wait > 0 {
		var cancel context.CancelFunc
		ctx, cancel = w.waiting(ctx)
		defer cancel()
		by = func(ctx context.Context, start host.StartRequest) (*journal.Execution, bool, error) {
			return w.engine.Launcher.Execute(ctx, start, wait)
		}
	}
	exec, existed, err := w.start(ctx, req.GetStart(), by)
	if err != nil {
		return nil, err
	}
	p, err := w.answer(ctx, exec, as)
	if err != nil {
		return nil, err
	}
	return &crusterv1.StartExecutionResponse{Execution: p, Existed: existed}, nil
}

func (w *workflowService) GetExecution(
	ctx context.Context, req *crusterv1.GetExecutionRequest,
) (*crusterv1.GetExecutionResponse, error) {
	ns, as, err := checkLookup(req)
	if err != nil {
		return nil, err
	}
	switch req.GetView() {
	case crusterv1.ExecutionView_EXECUTION_VIEW_UNSPECIFIED, crusterv1.ExecutionView_EXECUTION_VIEW_BASIC:
	case crusterv1.ExecutionView_EXECUTION_VIEW_FULL:
		return w.describe(ctx, ns, as, req)
	default:
		return nil, abi.Errorf(abi.CodeBadRequest, "there is no view %d of an execution", req.GetView())
	}
	exec, err := w.engine.Observer.PollRun(ctx, ns, req.GetExecution(), req.GetRunId())
	if err != nil {
		return nil, err
	}
	p, err := w.answer(ctx, exec, as)
	if err != nil {
		return nil, err
	}
	return &crusterv1.GetExecutionResponse{Execution: p}, nil
}

func (w *workflowService) WaitExecution(
	ctx context.Context, req *crusterv1.WaitExecutionRequest,
) (*crusterv1.WaitExecutionResponse, error) {
	ns, as, err := checkLookup(req)
	if err != nil {
		return nil, err
	}
	wait, err := waitOf(req.GetWait(), time.Minute)
	if err != nil {
		return nil, err
	}
	exec, err := w.wait(ctx, ns, req.GetExecution(), req.GetRunId(), wait)
	if err != nil {
		return nil, err
	}
	p, err := w.answer(ctx, exec, as)
	if err != nil {
		return nil, err
	}
	return &crusterv1.WaitExecutionResponse{Execution: p}, nil
}

// wait is Observer.WaitRun, cut short when the server is to stop.
func (w *workflowService) wait(
	ctx context.Context, namespace, execution, run string, wait time.Duration,
) (*journal.Execution, error) {
	if wait == 0 {
		return w.engine.Observer.PollRun(ctx, namespace, execution, run)
	}
	ctx, cancel := w.waiting(ctx)
	defer cancel()
	return w.engine.Observer.WaitRun(ctx, namespace, execution, run, wait)
}

// waiting derives the context of a call that waits for an execution: it ends when the server is to
// stop, and soon enough before the caller's deadline to describe the wait.
func (w *workflowService) waiting(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := w.lifetime.bound(ctx)
	ctx, end := ahead(ctx)
	return ctx, func() {
		end()
		cancel()
	}
}

// answer is an execution as its caller is sent it. A large result is paid for before it is read: thousands may wait for
// the same.
func (w *workflowService) answer(
	ctx context.Context, exec *journal.Execution, as crusterv1.Encoding,
) (*crusterv1.Execution, error) {
	if left := exec.LeftOut; left.Value > 0 {
		if err := arrivalOf(ctx).admitAnswer(ctx, int64(left.Input+pageCopies*left.Value)); err != nil {
			return nil, err
		}
		whole, err := w.engine.Observer.Whole(ctx, exec)
		if abi.CodeOf(err) == abi.CodeExecutionNotFound {
			return nil, abi.Errorf(
				abi.CodeExecutionNotFound, "%s is %s; it was deleted, or started over, before its result could be read",
				exec.Name(), exec.State,
			)
		}
		if err != nil {
			return nil, err
		}
		exec = whole
	}
	return convert.Execution(exec, as)
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

// describe is GetExecution with the details.
func (w *workflowService) describe(
	ctx context.Context, ns string, as crusterv1.Encoding, req *crusterv1.GetExecutionRequest,
) (*crusterv1.GetExecutionResponse, error) {
	if err := arrivalOf(ctx).admitAnswer(ctx, pageCopies*maxMessage); err != nil {
		return nil, err
	}
	d, err := w.engine.Observer.DescribeRun(ctx, ns, req.GetExecution(), req.GetRunId())
	if err != nil {
		return nil, err
	}
	resp, err := convert.Description(d, as)
	if err != nil {
		return nil, err
	}
	details := resp.GetDetails()
	room := journal.PageLimit{Entries: math.MaxInt, Bytes: maxMessage}.Room()
	for _, p := range details.GetPublished() {
		room.Take(sizeInList(p))
	}
	for _, p := range details.GetEarlier() {
		room.Take(sizeInList(p))
	}
	for i := range d.Pending {
		if p := convert.PendingOp(&d.Pending[i]); room.Take(sizeInList(p)) {
			details.Pending = append(details.Pending, p)
		}
	}
	details.PendingOmitted = uint32(len(d.Pending) - len(details.GetPending()))
	return resp, w.describeDeferreds(ctx, d, as, details, room)
}

// describeDeferreds adds the settled deferreds that there is room for: first all without their values, then values from
// the first on until one does not fit.
func (w *workflowService) describeDeferreds(
	ctx context.Context, d *host.Description, as crusterv1.Encoding, details *crusterv1.ExecutionDetails,
	room journal.Room,
) error {
	for i := range d.Deferreds {
		if p := convert.OmittedDeferred(&d.Deferreds[i]); room.Take(sizeInList(p)) {
			details.Deferreds = append(details.Deferreds, p)
		}
	}
	details.DeferredsOmitted = uint32(len(d.Deferreds) - len(details.GetDeferreds()))
	for i, omitted := range details.GetDeferreds() {
		s := &d.Deferreds[i]
		if _, left := room.Left(); s.Bytes >= left {
			break
		}
		settled, err := w.engine.Observer.Deferred(ctx, d.Settlements(), s)
		if err != nil {
			return err
		}
		whole, err := convert.SettledDeferred(settled, as)
		if err != nil {
			return err
		}
		if !room.Take(sizeInList(whole) - sizeInList(omitted)) {
			break
		}
		details.Deferreds[i] = whole
	}
	return nil
}

func (w *workflowService) InterruptExecution(
	ctx context.Context, req *crusterv1.InterruptExecutionRequest,
) (*crusterv1.InterruptExecutionResponse, error) {
	ns, err := convert.Target(req.GetNamespace(), req.GetExecution())
	if err != nil {
		return nil, err
	}
	if err := w.engine.Executions.Interrupt(ctx, ns, req.GetExecution(), req.GetReason()); err != nil {
		return nil, err
	}
	return &crusterv1.InterruptExecutionResponse{}, nil
}

func (w *workflowService) TerminateExecution(
	ctx context.Context, req *crusterv1.TerminateExecutionRequest,
) (*crusterv1.TerminateExecutionResponse, error) {
	ns, err := convert.Target(req.GetNamespace(), req.GetExecution())
	if err != nil {
		return nil, err
	}
	if err := w.engine.Executions.Terminate(ctx, ns, req.GetExecution(), req.GetReason()); err != nil {
		return nil, err
	}
	return &crusterv1.TerminateExecutionResponse{}, nil
}

func (w *workflowService) ResumeExecution(
	ctx context.Context, req *crusterv1.ResumeExecutionRequest,
) (*crusterv1.ResumeExecutionResponse, error) {
	ns, err := convert.Target(req.GetNamespace(), req.GetExecution())
	if err != nil {
		return nil, err
	}
	if req.GetInterrupt() {
		err = w.engine.Executions.ResumeToStop(ctx, ns, req.GetExecution(), req.GetReason())
	} else {
		err = w.engine.Executions.Resume(ctx, ns, req.GetExecution())
	}
	if err != nil {
		return nil, err
	}
	return &crusterv1.ResumeExecutionResponse{}, nil
}

func (w *workflowService) FailExecution(
	ctx context.Context, req *crusterv1.FailExecutionRequest,
) (*crusterv1.FailExecutionResponse, error) {
	ns, err := convert.Target(req.GetNamespace(), req.GetExecution())
	if err != nil {
		return nil, err
	}
	if err := w.engine.Executions.Fail(ctx, ns, req.GetExecution(), req.GetReason()); err != nil {
		return nil, err
	}
	return &crusterv1.FailExecutionResponse{}, nil
}
