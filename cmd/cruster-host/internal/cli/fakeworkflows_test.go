package cli

import (
	"cmp"
	"context"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/cruster/cruster/abi"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/api/rpcerror"
)

type fakeWorkflows struct {
	crusterv1.UnimplementedWorkflowServiceServer
	host *fakeHost
}

// execution makes the execution of a name.
func execution(name string) (*crusterv1.Execution, error) {
	e := &crusterv1.Execution{
		Name:       name,
		Namespace:  "default",
		Workflow:   "shop/Buy",
		Digest:     "0123456789abcdef",
		CreateTime: timestamppb.New(noon),
	}
	_, e.Key, _ = strings.Cut(strings.TrimPrefix(name, "shop/"), "/")
	switch e.GetKey() {
	case "computing", "running", "waiting":
		e.State = crusterv1.State_STATE_RUNNING
	case "completed":
		e.State, e.Result = crusterv1.State_STATE_COMPLETED, &crusterv1.Payload{
			Data: &crusterv1.Payload_Json{Json: `{"paid":5.0}`},
		}
	case "failed":
		e.State, e.Error = crusterv1.State_STATE_FAILED, &crusterv1.Error{
			Code: "CR-2006", Message: "no money", Type: "broke", Hint: "See the error.",
		}
	case "paused":
		e.State, e.Error = crusterv1.State_STATE_PAUSED, &crusterv1.Error{
			Code: "CR-2010", Message: "it crashes", Hint: "Fix it.",
		}
	default:
		return nil, refused(abi.CodeExecutionNotFound, "there is no execution %q", name)
	}
	return e, nil
}

// key returns the fake's key of a start: the given key, or "running".
func key(start *crusterv1.StartOptions) string {
	if start.GetRawKey() != "" {
		return start.GetRawKey()
	}
	return "running"
}

func (fakeWorkflows) StartExecution(
	_ context.Context, req *crusterv1.StartExecutionRequest,
) (*crusterv1.StartExecutionResponse, error) {
	if req.GetWait() != nil {
		return execute(req)
	}
	e, err := execution("shop/Buy/" + key(req.GetStart()))
	return &crusterv1.StartExecutionResponse{Execution: e, Existed: req.GetStart().GetKey() != ""}, err
}

// execute finds the execution started at noon if a hashed key is given. Commands begin a minute
// later.
func execute(req *crusterv1.StartExecutionRequest) (*crusterv1.StartExecutionResponse, error) {
	found := req.GetStart().GetKey()
	state, finished, _ := strings.Cut(found, "-")
	e, err := execution("shop/Buy/" + cmp.Or(state, key(req.GetStart())))
	switch finished {
	case "before":
		e.EndTime = timestamppb.New(noon.Add(time.Second))
	case "later":
		e.EndTime = timestamppb.New(noon.Add(time.Hour))
	case "own":
		e.CreateTime, e.EndTime = timestamppb.New(noon.Add(2*time.Minute)), timestamppb.New(noon.Add(time.Hour))
	}
	return &crusterv1.StartExecutionResponse{Execution: e, Existed: found != ""}, err
}

// WaitExecution answers at once; for a running execution it waits until the caller gives up, or the wait is over.
func (fakeWorkflows) WaitExecution(
	ctx context.Context, req *crusterv1.WaitExecutionRequest,
) (*crusterv1.WaitExecutionResponse, error) {
	e, err := execution(req.GetExecution())
	if e.GetState() == crusterv1.State_STATE_RUNNING {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(req.GetWait().AsDuration()):
		}
	}
	return &crusterv1.WaitExecutionResponse{Execution: e}, err
}

func (f fakeWorkflows) GetExecution(
	_ context.Context, req *crusterv1.GetExecutionRequest,
) (*crusterv1.GetExecutionResponse, error) {
	e, err := execution(req.GetExecution())
	if req.GetView() != crusterv1.ExecutionView_EXECUTION_VIEW_FULL {
		return &crusterv1.GetExecutionResponse{Execution: e}, err
	}
	pending := &crusterv1.PendingOp{Number: 2, Kind: "sleep"}
	switch e.GetKey() {
	case "computing":
		f.host.look()
		pending = &crusterv1.PendingOp{Kind: "turn", IssueTime: timestamppb.New(noon)}
	case "waiting":
		f.host.look()
	}
	details := &crusterv1.ExecutionDetails{Entries: 3, Pending: []*crusterv1.PendingOp{pending}}
	return &crusterv1.GetExecutionResponse{Execution: e, Details: details}, err
}

// History has 5 entries, and 2 of them on a page.
func (fakeWorkflows) ListHistory(
	_ context.Context, req *crusterv1.ListHistoryRequest,
) (*crusterv1.ListHistoryResponse, error) {
	resp := &crusterv1.ListHistoryResponse{}
	for seq := req.GetAfter() + 1; seq <= 5; seq++ {
		if len(resp.GetEntries()) == min(2, int(req.GetPageSize())) {
			resp.Next = seq - 1
			break
		}
		resp.Entries = append(resp.Entries, &crusterv1.HistoryEntry{
			Seq: seq, Turn: seq, Kind: "delivery", Op: uint32(seq), OpKind: "sleep",
		})
	}
	return resp, nil
}

// endless has an execution paused in a loop and, if the deployment is mixed, a running one.
func endless(deployment string, state crusterv1.State) *crusterv1.ListExecutionsResponse {
	resp := &crusterv1.ListExecutionsResponse{}
	switch {
	case state == crusterv1.State_STATE_PAUSED:
		late := abi.Errorf(
			abi.CodeCrashLoop, "the workflow crashed 3 times in a row; last: %v",
			abi.Errorf(abi.CodeGuestTimeout, "it did not return"),
		)
		resp.Executions = append(resp.Executions, &crusterv1.Execution{
			Name: deployment + "Buy/loop", State: state, Error: rpcerror.ToProto(late),
		})
	case deployment == "mixed/":
		resp.Executions = append(resp.Executions, &crusterv1.Execution{Name: deployment + "Buy/running", State: state})
	}
	return resp
}

// List has an execution of each state, and 2 of them on a page.
func (fakeWorkflows) ListExecutions(
	_ context.Context, req *crusterv1.ListExecutionsRequest,
) (*crusterv1.ListExecutionsResponse, error) {
	resp := &crusterv1.ListExecutionsResponse{}
	if req.GetNamespace() == emptyNamespace || req.GetNamespace() == "idle" {
		return resp, nil
	}
	if name := req.GetWorkflow(); name == "slow/" || name == "mixed/" {
		return endless(name, req.GetState()), nil
	}
	after := req.GetPageToken()
	for _, k := range []string{"completed", "failed", "paused", "running"} {
		if k <= after {
			continue
		}
		if len(resp.GetExecutions()) == min(2, int(req.GetPageSize())) {
			resp.NextPageToken = resp.GetExecutions()[len(resp.GetExecutions())-1].GetKey()
			break
		}
		e, err := execution("shop/Buy/" + k)
		if err != nil {
			return nil, err
		}
		e.Result = nil
		resp.Executions = append(resp.Executions, e)
	}
	return resp, nil
}

func (fakeWorkflows) QueryExecution(
	_ context.Context, req *crusterv1.QueryExecutionRequest,
) (*crusterv1.QueryExecutionResponse, error) {
	_, err := execution(req.GetExecution())
	return &crusterv1.QueryExecutionResponse{
		Value: &crusterv1.Payload{Data: &crusterv1.Payload_Json{Json: `{"status":"waits"}`}},
	}, err
}

func (fakeWorkflows) UpdateExecution(
	_ context.Context, req *crusterv1.UpdateExecutionRequest,
) (*crusterv1.UpdateExecutionResponse, error) {
	switch req.GetName() {
	case "add":
		return &crusterv1.UpdateExecutionResponse{
			Value: &crusterv1.Payload{Data: &crusterv1.Payload_Json{Json: `{"total":3}`}},
		}, nil
	case "refused":
		return &crusterv1.UpdateExecutionResponse{
			Error: rpcerror.ToProto(abi.Errorf(abi.CodeUpdateRefused, "it is negative")),
		}, nil
	default:
		return nil, rpcerror.Status(
			abi.Errorf(abi.CodeUnknownUpdate, "workflow Buy has no update %q", req.GetName()), 0,
		).Err()
	}
}

func (fakeWorkflows) GetExecutionState(
	_ context.Context, req *crusterv1.GetExecutionStateRequest,
) (*crusterv1.GetExecutionStateResponse, error) {
	resp := &crusterv1.GetExecutionStateResponse{
		Attributes: []*crusterv1.Attribute{
			{Name: "amount", Value: &crusterv1.Attribute_Number{Number: 5}},
			{Name: "customer", Value: &crusterv1.Attribute_Text{Text: "ada"}},
			{Name: "due", Value: &crusterv1.Attribute_Time{Time: timestamppb.New(time.Unix(1e9, 0))}},
			{Name: "vip", Value: &crusterv1.Attribute_Boolean{Boolean: true}},
		},
		Progress: &crusterv1.Progress{Done: 1, Total: 3, Note: "packing"},
	}
	if req.GetName() != "later" {
		resp.State = []*crusterv1.PublishedState{{
			Name: "stage", Value: &crusterv1.Payload{Data: &crusterv1.Payload_Json{Json: `"packed"`}},
		}}
	}
	return resp, nil
}

func (fakeWorkflows) SignalExecution(
	_ context.Context, req *crusterv1.SignalExecutionRequest,
) (*crusterv1.SignalExecutionResponse, error) {
	_, err := execution(req.GetExecution())
	if err == nil && req.GetSignal().GetName() != "paid" {
		err = rpcerror.Status(
			abi.Errorf(abi.CodeUnknownSignal, "workflow Buy has no signal %q", req.GetSignal().GetName()), 0,
		).Err()
	}
	return &crusterv1.SignalExecutionResponse{}, err
}

func (fakeWorkflows) SignalWithStart(
	_ context.Context, req *crusterv1.SignalWithStartRequest,
) (*crusterv1.SignalWithStartResponse, error) {
	e, err := execution(req.GetStart().GetWorkflow() + "/" + req.GetStart().GetRawKey())
	return &crusterv1.SignalWithStartResponse{Execution: e, Existed: true}, err
}

// Interrupt answers at once; for a computing execution after two looks at its work.
func (f fakeWorkflows) InterruptExecution(
	ctx context.Context, req *crusterv1.InterruptExecutionRequest,
) (*crusterv1.InterruptExecutionResponse, error) {
	e, err := execution(req.GetExecution())
	if e.GetKey() == "computing" {
		err = f.host.awaitLooks(ctx)
	}
	return &crusterv1.InterruptExecutionResponse{}, err
}

func (fakeWorkflows) ResumeExecution(
	_ context.Context, req *crusterv1.ResumeExecutionRequest,
) (*crusterv1.ResumeExecutionResponse, error) {
	if req.GetInterrupt() {
		_, err := execution(req.GetExecution())
		return &crusterv1.ResumeExecutionResponse{}, err
	}
	return &crusterv1.ResumeExecutionResponse{}, needPaused(req.GetExecution())
}

func (fakeWorkflows) TerminateExecution(
	_ context.Context, req *crusterv1.TerminateExecutionRequest,
) (*crusterv1.TerminateExecutionResponse, error) {
	_, err := execution(req.GetExecution())
	return &crusterv1.TerminateExecutionResponse{}, err
}

func (fakeWorkflows) FailExecution(
	_ context.Context, req *crusterv1.FailExecutionRequest,
) (*crusterv1.FailExecutionResponse, error) {
	return &crusterv1.FailExecutionResponse{}, needPaused(req.GetExecution())
}

// Move moves paused executions; running ones do not fit. All are on the module 0123.
func (fakeWorkflows) MoveExecution(
	_ context.Context, req *crusterv1.MoveExecutionRequest,
) (*crusterv1.MoveExecutionResponse, error) {
	e, err := execution(req.GetExecution())
	if err != nil {
		return nil, err
	}
	resp := &crusterv1.MoveExecutionResponse{Execution: e, FromDigest: e.GetDigest()}
	if strings.HasPrefix(e.GetDigest(), req.GetTo()) {
		return resp, nil
	}
	if e.GetState() != crusterv1.State_STATE_PAUSED {
		return nil, unfit(e.GetName())
	}
	e.State, e.Error, e.Digest = crusterv1.State_STATE_RUNNING, nil, "fedcba9876543210"
	return resp, nil
}

// MoveAll moves paused executions; running ones do not fit. It fails half-way for a workflow named
// after that, and at once for an unknown one. The deployment idle has no open executions, and those
// of stuck are paused where they are.
func (f fakeWorkflows) MoveExecutions(
	req *crusterv1.MoveExecutionsRequest, stream grpc.ServerStreamingServer[crusterv1.MoveExecutionsResponse],
) error {
	f.host.note(
		"WorkflowService/MoveExecutions workflow %s, state %v, to %s", req.GetWorkflow(), req.GetState(), req.GetTo(),
	)
	switch req.GetWorkflow() {
	case "shop/By":
		return refused(abi.CodeUnknownWorkflow, "deployment %q has no workflow %q", "shop", "By")
	case "idle/":
		return nil
	case "stuck/":
		return stream.Send(&crusterv1.MoveExecutionsResponse{Done: 1, Result: pausedThere()})
	case "mixed/":
		for i, r := range []*crusterv1.MoveResult{pausedThere(), unmoved("running")} {
			if err := stream.Send(&crusterv1.MoveExecutionsResponse{Done: uint32(i + 1), Result: r}); err != nil {
				return err
			}
		}
		return nil
	}
	moved, _ := execution("shop/Buy/paused")
	result := &crusterv1.MoveResult{Execution: moved, FromDigest: moved.GetDigest()}
	moved.State, moved.Error, moved.Digest = crusterv1.State_STATE_RUNNING, nil, "fedcba9876543210"
	if err := stream.Send(&crusterv1.MoveExecutionsResponse{Done: 1, Result: result}); err != nil {
		return err
	}
	switch {
	case req.GetWorkflow() == "shop/HalfWay":
		return refused(abi.CodeStore, "the store is away")
	case req.GetState() == crusterv1.State_STATE_PAUSED:
		return nil
	default:
		return stream.Send(&crusterv1.MoveExecutionsResponse{Done: 2, Result: unmoved("running")})
	}
}

func (fakeWorkflows) ForkExecution(
	_ context.Context, req *crusterv1.ForkExecutionRequest,
) (*crusterv1.ForkExecutionResponse, error) {
	e, err := execution(req.GetExecution())
	if err != nil {
		return nil, err
	}
	e.Key = req.GetKey()
	if e.Key == "" {
		e.Key = "made-up"
	}
	e.Name, e.State, e.Error, e.Result, e.RunId = "shop/Buy/"+
		e.GetKey(), crusterv1.State_STATE_RUNNING, nil, nil, "00ff"
	return &crusterv1.ForkExecutionResponse{Execution: e}, nil
}

func needPaused(name string) error {
	e, err := execution(name)
	if err == nil && e.GetState() != crusterv1.State_STATE_PAUSED {
		return refused(abi.CodeNotPaused, "%s is not paused", name)
	}
	return err
}

// Follow tells an entry and two lines, and the execution as it is. A running execution is paused,
// continues as another run, and completes. A waiting one completes after two looks at its waits.
func (f fakeWorkflows) FollowExecution(
	req *crusterv1.FollowExecutionRequest, stream grpc.ServerStreamingServer[crusterv1.FollowExecutionResponse],
) error {
	f.host.note("WorkflowService/FollowExecution %s after %d", req.GetExecution(), req.GetAfter())
	e, err := execution(req.GetExecution())
	if err != nil {
		return err
	}
	e.RunId = "0011223344556677"
	as := func(state crusterv1.State, run string) *crusterv1.FollowExecutionResponse {
		other := &crusterv1.Execution{Name: e.GetName(), RunId: run, State: state}
		if state == crusterv1.State_STATE_PAUSED {
			other.Error = &crusterv1.Error{Code: "CR-2010", Message: "it crashes\nhere"}
		}
		return &crusterv1.FollowExecutionResponse{Event: &crusterv1.FollowExecutionResponse_Execution{Execution: other}}
	}
	five := &crusterv1.Payload{Data: &crusterv1.Payload_Json{Json: "5"}}
	entry := &crusterv1.HistoryEntry{
		Seq: 1, Kind: "delivery", JournalTime: timestamppb.New(noon), OpKind: "activity", Name: "pay", Value: five,
	}
	all := []*crusterv1.FollowExecutionResponse{
		{Event: &crusterv1.FollowExecutionResponse_Entry{Entry: entry}},
		{
			Event: &crusterv1.FollowExecutionResponse_Line{
				Line: &crusterv1.LogLine{
					LogTime: timestamppb.New(noon), Level: 4, Message: "slow\nbank",
					Activity: "pay", Attempt: 2, Dropped: 3,
				},
			},
		},
		{
			Event: &crusterv1.FollowExecutionResponse_Line{
				Line: &crusterv1.LogLine{LogTime: timestamppb.New(noon), Message: "so far", Crashed: true},
			},
		},
		{
			Event: &crusterv1.FollowExecutionResponse_Line{
				Line: &crusterv1.LogLine{LogTime: timestamppb.New(noon), Message: "paid"},
			},
		},
	}
	if e.GetKey() == "waiting" {
		if err := stream.Send(as(e.GetState(), e.GetRunId())); err != nil {
			return err
		}
		if err := f.host.awaitLooks(stream.Context()); err != nil {
			return err
		}
		e.State, e.Result, all = crusterv1.State_STATE_COMPLETED, five, nil
	}
	if e.GetState() == crusterv1.State_STATE_RUNNING {
		running, paused := crusterv1.State_STATE_RUNNING, crusterv1.State_STATE_PAUSED
		all = append([]*crusterv1.FollowExecutionResponse{as(running, e.GetRunId())}, all...)
		all = append(all, as(paused, e.GetRunId()), as(running, e.GetRunId()), as(running, "8899aabbccddeeff"))
		e.State, e.RunId, e.Result = crusterv1.State_STATE_COMPLETED, "8899aabbccddeeff", &crusterv1.Payload{
			Data: &crusterv1.Payload_Json{Json: `{"paid":5}`},
		}
	}
	for _, m := range append(
		all, &crusterv1.FollowExecutionResponse{Event: &crusterv1.FollowExecutionResponse_Execution{Execution: e}},
	) {
		if err := stream.Send(m); err != nil {
			return err
		}
	}
	return nil
}

func (fakeWorkflows) RestartExecution(
	_ context.Context, req *crusterv1.RestartExecutionRequest,
) (*crusterv1.RestartExecutionResponse, error) {
	e, err := execution(req.GetExecution())
	switch {
	case err != nil:
		return nil, err
	case e.GetState() == crusterv1.State_STATE_RUNNING:
		return nil, refused(abi.CodeNotOver, "%s is running", req.GetExecution())
	}
	e.State, e.Error, e.Result, e.RunId = crusterv1.State_STATE_RUNNING, nil, nil, "00ff"
	return &crusterv1.RestartExecutionResponse{Execution: e, Existed: req.GetRequestId() == "again"}, nil
}

func (fakeWorkflows) DeleteExecution(
	_ context.Context, req *crusterv1.DeleteExecutionRequest,
) (*crusterv1.DeleteExecutionResponse, error) {
	e, err := execution(req.GetExecution())
	switch {
	case err != nil:
		return nil, err
	case e.GetState() == crusterv1.State_STATE_RUNNING:
		return nil, refused(abi.CodeNotOver, "%s is running", req.GetExecution())
	}
	return &crusterv1.DeleteExecutionResponse{}, nil
}
