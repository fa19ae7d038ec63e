package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/cruster/cruster/abi"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/api/rpcerror"
)

// noon is when everything in the fake host happened.
var noon = time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)

// runCommands runs the commands of a file of testdata against a fake host. The
// input of "run" is a command line without the name of the program, in which
// single quotes keep a word together; stdin=TEXT is its standard input. The output
// shows the exit code if it is not 0, what was asked of the host, standard output,
// and standard error after "stderr:".
func runCommands(t *testing.T, path string) {
	t.Helper()
	fake := &fakeHost{}
	addr := fake.start(t)
	datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
		if d.Cmd != "run" {
			d.Fatalf(t, "unknown command %s", d.Cmd)
		}
		var stdin string
		d.MaybeScanArgs(t, "stdin", &stdin)
		var out, errs strings.Builder
		code := Run(t.Context(), Process{
			Args: words(d.Input), LookupEnv: environment("CRUSTER_ADDR="+addr, "CRUSTER_RETRY_FOR=0s"),
			Stderr: &errs, Stdin: strings.NewReader(stdin), Stdout: &out,
		})
		var shown strings.Builder
		if code != 0 {
			fmt.Fprintf(&shown, "exit code %d\n", code)
		}
		for _, asked := range fake.forget() {
			fmt.Fprintf(&shown, "asked: %s\n", asked)
		}
		shown.WriteString(out.String())
		if errs.Len() > 0 {
			shown.WriteString("stderr:\n" + errs.String())
		}
		return strings.ReplaceAll(shown.String(), addr, "HOST:PORT")
	})
}

// words splits a command line at spaces outside of single quotes.
func words(line string) []string {
	var all []string
	for i, part := range strings.Split(line, "'") {
		if i%2 == 1 {
			all = append(all, part)
		} else {
			all = append(all, strings.Fields(part)...)
		}
	}
	return all
}

// fakeHost answers as a host would that has one deployment, shop, and a few
// executions of its workflow Buy. Their keys say what state they are in.
type fakeHost struct {
	mu    sync.Mutex
	asked []string // the calls since forget, guarded by mu
}

func (f *fakeHost) note(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = append(f.asked, fmt.Sprintf(format, args...))
}

// forget returns the calls that were noted, and starts anew.
func (f *fakeHost) forget() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	asked := f.asked
	f.asked = nil
	return asked
}

func (f *fakeHost) start(t *testing.T) (addr string) {
	t.Helper()
	server := grpc.NewServer(grpc.UnaryInterceptor(f.record))
	crusterv1.RegisterModuleServiceServer(server, &fakeModules{host: f})
	crusterv1.RegisterWorkflowServiceServer(server, fakeWorkflows{host: f})
	crusterv1.RegisterDeferredServiceServer(server, fakeDeferreds{})
	crusterv1.RegisterEntityServiceServer(server, fakeEntities{})
	crusterv1.RegisterScheduleServiceServer(server, fakeSchedules{})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	t.Cleanup(func() {
		server.Stop()
		require.NoError(t, <-served)
	})
	return listener.Addr().String()
}

// record notes a call with its request, in a form that does not vary.
func (f *fakeHost) record(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	raw, err := protojson.Marshal(req.(proto.Message))
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	if err := json.Compact(&text, raw); err != nil { // the spaces of protojson vary on purpose
		return nil, err
	}
	f.note("%s %s", strings.TrimPrefix(info.FullMethod, "/cruster.v1."), &text)
	return handler(ctx, req)
}

type fakeModules struct {
	crusterv1.UnimplementedModuleServiceServer
	host *fakeHost
}

func shopDeployment() *crusterv1.Deployment {
	return &crusterv1.Deployment{
		Namespace: "default", Name: "shop", Digest: "0123456789abcdef", Version: 2, UpdatedAt: timestamppb.New(noon),
		Workflows: []*crusterv1.WorkflowInfo{{Name: "Buy", Key: "request", Input: &crusterv1.Schema{Type: "struct", Fields: []*crusterv1.Field{
			{Name: "price", Required: true, Schema: &crusterv1.Schema{Type: "float"}},
		}}}},
	}
}

func (m *fakeModules) PushStream(stream grpc.ClientStreamingServer[crusterv1.PushStreamRequest, crusterv1.PushResponse]) error {
	size := 0
	var options *crusterv1.PushMetadata
	for {
		part, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			m.host.note("ModuleService/PushStream %d bytes", size)
			return m.answerPush(options, stream)
		}
		if err != nil {
			return err
		}
		if meta := part.GetMetadata(); meta != nil {
			m.host.note("ModuleService/PushStream %s", pushText(meta))
			options = meta
		}
		size += len(part.GetChunk())
	}
}

// answerPush refuses a push that must fit, and moves three executions of five.
func (m *fakeModules) answerPush(options *crusterv1.PushMetadata, stream grpc.ClientStreamingServer[crusterv1.PushStreamRequest, crusterv1.PushResponse]) error {
	resp := &crusterv1.PushResponse{Deployment: shopDeployment()}
	if options.GetCheck() {
		m.host.note("ModuleService/PushStream must fit")
		return unfit("shop/Buy/running")
	}
	if options.GetMoveOpen() {
		m.host.note("ModuleService/PushStream moves what is open")
		resp.Moved, resp.Unmoved, resp.FirstUnmoved = 3, 2, unmoved("running")
	}
	return stream.SendAndClose(resp)
}

// Check finds an execution that fits and two that do not; none of the deployment
// idle. The deployment none does not exist.
func (m *fakeModules) Check(stream grpc.BidiStreamingServer[crusterv1.CheckRequest, crusterv1.CheckResponse]) error {
	size, name := 0, ""
	for {
		part, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		name += part.GetMetadata().GetName()
		size += len(part.GetChunk())
	}
	m.host.note("ModuleService/Check %s, %d bytes", name, size)
	switch name {
	case "idle":
		return nil
	case "none":
		return refused(abi.CodeDeploymentNotFound, "there is no deployment %q", name)
	}
	for i, key := range []string{"completed", "paused", "running"} {
		e, err := execution("shop/Buy/" + key)
		if err != nil {
			return err
		}
		resp := &crusterv1.CheckResponse{Done: uint32(i + 1), Total: 3, Execution: e, Fits: true}
		if i > 0 && name != "fine" {
			resp.Fits, resp.Reason, resp.Diff = false, "the code leaves out what has run", payDiff()
		}
		if err := stream.Send(resp); err != nil {
			return err
		}
	}
	return nil
}

func payDiff() *crusterv1.Diff {
	return &crusterv1.Diff{Before: 1, Rows: []*crusterv1.DiffRow{{Journal: "activity pay", Note: "the code leaves out what has run"}}}
}

// unfit is the error of a module that does not fit.
func unfit(execution string) error {
	cause := abi.Errorf(abi.CodeDoesNotFit, "the module does not fit %s\n  both sides", execution)
	return rpcerror.WithDiff(rpcerror.Status(cause, 0), payDiff()).Err()
}

func unmoved(key string) *crusterv1.MoveResult {
	e, _ := execution("shop/Buy/" + key)
	return &crusterv1.MoveResult{
		Execution: e, FromDigest: e.GetDigest(), Error: &crusterv1.Error{Code: "CR-2031", Message: "the module does not fit\n  both sides"}, Diff: payDiff(),
	}
}

// pausedThere is what becomes of an execution that is paused on the module that it is
// to be moved to.
func pausedThere() *crusterv1.MoveResult {
	e, _ := execution("shop/Buy/paused")
	return &crusterv1.MoveResult{
		Execution: e, FromDigest: e.GetDigest(), Error: &crusterv1.Error{Code: "CR-2015", Message: "it is there already", Hint: "Resume it."},
	}
}

func (*fakeModules) List(context.Context, *crusterv1.ListModulesRequest) (*crusterv1.ListModulesResponse, error) {
	return &crusterv1.ListModulesResponse{Deployments: []*crusterv1.Deployment{shopDeployment()}}, nil
}

func (*fakeModules) Describe(_ context.Context, req *crusterv1.DescribeModuleRequest) (*crusterv1.DescribeModuleResponse, error) {
	if req.GetName() != "shop" {
		return nil, refused(abi.CodeDeploymentNotFound, "there is no deployment %q", req.GetName())
	}
	return &crusterv1.DescribeModuleResponse{Deployment: shopDeployment()}, nil
}

func refused(code abi.Code, format string, args ...any) error {
	return rpcerror.Status(abi.Errorf(code, format, args...).WithHint("What to do about %s.", code), 0).Err()
}

type fakeWorkflows struct {
	crusterv1.UnimplementedWorkflowServiceServer
	host *fakeHost
}

// execution makes the execution of a name.
func execution(name string) (*crusterv1.Execution, error) {
	e := &crusterv1.Execution{Name: name, Namespace: "default", Workflow: "shop/Buy", Digest: "0123456789abcdef", CreatedAt: timestamppb.New(noon)}
	_, e.Key, _ = strings.Cut(strings.TrimPrefix(name, "shop/"), "/")
	switch e.GetKey() {
	case "running":
		e.State = crusterv1.State_STATE_RUNNING
	case "completed":
		e.State, e.Result = crusterv1.State_STATE_COMPLETED, &crusterv1.Payload{Data: &crusterv1.Payload_Json{Json: `{"paid":5.0}`}}
	case "failed":
		e.State, e.Error = crusterv1.State_STATE_FAILED, &crusterv1.Error{Code: "CR-2006", Message: "no money", Type: "broke", Hint: "See the error."}
	case "paused":
		e.State, e.Error = crusterv1.State_STATE_PAUSED, &crusterv1.Error{Code: "CR-2010", Message: "it crashes", Hint: "Fix it."}
	default:
		return nil, refused(abi.CodeExecutionNotFound, "there is no execution %q", name)
	}
	return e, nil
}

// key is what the fake derives from a start: the key that was given, or "running".
func key(start *crusterv1.StartOptions) string {
	if start.GetRawKey() != "" {
		return start.GetRawKey()
	}
	return "running"
}

func (fakeWorkflows) Start(_ context.Context, req *crusterv1.StartRequest) (*crusterv1.StartResponse, error) {
	e, err := execution("shop/Buy/" + key(req.GetStart()))
	return &crusterv1.StartResponse{Execution: e, Existed: req.GetStart().GetKey() != ""}, err
}

func (fakeWorkflows) Execute(_ context.Context, req *crusterv1.ExecuteRequest) (*crusterv1.ExecuteResponse, error) {
	e, err := execution("shop/Buy/" + key(req.GetStart()))
	return &crusterv1.ExecuteResponse{Execution: e}, err
}

func (fakeWorkflows) Poll(_ context.Context, req *crusterv1.PollRequest) (*crusterv1.PollResponse, error) {
	e, err := execution(req.GetExecution())
	return &crusterv1.PollResponse{Execution: e}, err
}

// Wait answers at once; for one that runs it waits until the caller gives up.
func (fakeWorkflows) Wait(ctx context.Context, req *crusterv1.WaitRequest) (*crusterv1.WaitResponse, error) {
	e, err := execution(req.GetExecution())
	if e.GetState() == crusterv1.State_STATE_RUNNING {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return &crusterv1.WaitResponse{Execution: e}, err
}

func (fakeWorkflows) Describe(_ context.Context, req *crusterv1.DescribeRequest) (*crusterv1.DescribeResponse, error) {
	e, err := execution(req.GetExecution())
	return &crusterv1.DescribeResponse{Execution: e, Entries: 3, Pending: []*crusterv1.PendingOp{{Number: 2, Kind: "sleep"}}}, err
}

// History has 5 entries, and 2 of them on a page.
func (fakeWorkflows) History(_ context.Context, req *crusterv1.HistoryRequest) (*crusterv1.HistoryResponse, error) {
	resp := &crusterv1.HistoryResponse{}
	for seq := req.GetAfter() + 1; seq <= 5; seq++ {
		if len(resp.GetEntries()) == min(2, int(req.GetPageSize())) {
			resp.Next = seq - 1
			break
		}
		resp.Entries = append(resp.Entries, &crusterv1.HistoryEntry{Seq: seq, Turn: seq, Kind: "delivery", Op: uint32(seq), OpKind: "sleep"})
	}
	return resp, nil
}

// List has an execution of each state, and 2 of them on a page.
func (fakeWorkflows) List(_ context.Context, req *crusterv1.ListRequest) (*crusterv1.ListResponse, error) {
	resp := &crusterv1.ListResponse{}
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

func (fakeWorkflows) Query(_ context.Context, req *crusterv1.QueryRequest) (*crusterv1.QueryResponse, error) {
	_, err := execution(req.GetExecution())
	return &crusterv1.QueryResponse{Value: &crusterv1.Payload{Data: &crusterv1.Payload_Json{Json: `{"status":"waits"}`}}}, err
}

func (fakeWorkflows) Update(_ context.Context, req *crusterv1.UpdateRequest) (*crusterv1.UpdateResponse, error) {
	switch req.GetName() {
	case "add":
		return &crusterv1.UpdateResponse{Value: &crusterv1.Payload{Data: &crusterv1.Payload_Json{Json: `{"total":3}`}}}, nil
	case "refused":
		return &crusterv1.UpdateResponse{Error: rpcerror.ToProto(abi.Errorf(abi.CodeUpdateRefused, "it is negative"))}, nil
	default:
		return nil, rpcerror.Status(abi.Errorf(abi.CodeUnknownUpdate, "workflow Buy has no update %q", req.GetName()), 0).Err()
	}
}

func (fakeWorkflows) GetState(_ context.Context, req *crusterv1.GetStateRequest) (*crusterv1.GetStateResponse, error) {
	resp := &crusterv1.GetStateResponse{
		Attributes: []*crusterv1.Attribute{
			{Name: "amount", Value: &crusterv1.Attribute_Number{Number: 5}},
			{Name: "customer", Value: &crusterv1.Attribute_Text{Text: "ada"}},
			{Name: "due", Value: &crusterv1.Attribute_Time{Time: timestamppb.New(time.Unix(1e9, 0))}},
			{Name: "vip", Value: &crusterv1.Attribute_Boolean{Boolean: true}},
		},
		Progress: &crusterv1.Progress{Done: 1, Total: 3, Note: "packing"},
	}
	if req.GetName() != "later" {
		resp.State = []*crusterv1.PublishedState{{Name: "stage", Value: &crusterv1.Payload{Data: &crusterv1.Payload_Json{Json: `"packed"`}}}}
	}
	return resp, nil
}

func (fakeWorkflows) Signal(_ context.Context, req *crusterv1.SignalRequest) (*crusterv1.SignalResponse, error) {
	_, err := execution(req.GetExecution())
	if err == nil && req.GetSignal().GetName() != "paid" {
		err = rpcerror.Status(abi.Errorf(abi.CodeUnknownSignal, "workflow Buy has no signal %q", req.GetSignal().GetName()), 0).Err()
	}
	return &crusterv1.SignalResponse{}, err
}

func (fakeWorkflows) SignalWithStart(_ context.Context, req *crusterv1.SignalWithStartRequest) (*crusterv1.SignalWithStartResponse, error) {
	e, err := execution(req.GetStart().GetWorkflow() + "/" + req.GetStart().GetRawKey())
	return &crusterv1.SignalWithStartResponse{Execution: e, Existed: true}, err
}

func (fakeWorkflows) Interrupt(_ context.Context, req *crusterv1.InterruptRequest) (*crusterv1.InterruptResponse, error) {
	_, err := execution(req.GetExecution())
	return &crusterv1.InterruptResponse{}, err
}

func (fakeWorkflows) Resume(_ context.Context, req *crusterv1.ResumeRequest) (*crusterv1.ResumeResponse, error) {
	return &crusterv1.ResumeResponse{}, needPaused(req.GetExecution())
}

func (fakeWorkflows) Fail(_ context.Context, req *crusterv1.FailRequest) (*crusterv1.FailResponse, error) {
	return &crusterv1.FailResponse{}, needPaused(req.GetExecution())
}

// Move moves what is paused; what runs does not fit. The module 0123 is where all
// are.
func (fakeWorkflows) Move(_ context.Context, req *crusterv1.MoveRequest) (*crusterv1.MoveResponse, error) {
	e, err := execution(req.GetExecution())
	if err != nil {
		return nil, err
	}
	resp := &crusterv1.MoveResponse{Execution: e, FromDigest: e.GetDigest()}
	if strings.HasPrefix(e.GetDigest(), req.GetTo()) {
		return resp, nil
	}
	if e.GetState() != crusterv1.State_STATE_PAUSED {
		return nil, unfit(e.GetName())
	}
	e.State, e.Error, e.Digest = crusterv1.State_STATE_RUNNING, nil, "fedcba9876543210"
	return resp, nil
}

// MoveAll moves what is paused; what runs does not fit. It fails half-way for a
// workflow that is named after that, and at once for one that there is not. Of the
// deployment idle nothing is open, and those of stuck are paused where they are.
func (f fakeWorkflows) MoveAll(req *crusterv1.MoveAllRequest, stream grpc.ServerStreamingServer[crusterv1.MoveAllResponse]) error {
	f.host.note("WorkflowService/MoveAll workflow %s, state %v, to %s", req.GetWorkflow(), req.GetState(), req.GetTo())
	switch req.GetWorkflow() {
	case "shop/By":
		return refused(abi.CodeUnknownWorkflow, "deployment %q has no workflow %q", "shop", "By")
	case "idle/":
		return nil
	case "stuck/":
		return stream.Send(&crusterv1.MoveAllResponse{Done: 1, Result: pausedThere()})
	case "mixed/":
		for i, r := range []*crusterv1.MoveResult{pausedThere(), unmoved("running")} {
			if err := stream.Send(&crusterv1.MoveAllResponse{Done: uint32(i + 1), Result: r}); err != nil {
				return err
			}
		}
		return nil
	}
	moved, _ := execution("shop/Buy/paused")
	result := &crusterv1.MoveResult{Execution: moved, FromDigest: moved.GetDigest()}
	moved.State, moved.Error, moved.Digest = crusterv1.State_STATE_RUNNING, nil, "fedcba9876543210"
	if err := stream.Send(&crusterv1.MoveAllResponse{Done: 1, Result: result}); err != nil {
		return err
	}
	switch {
	case req.GetWorkflow() == "shop/HalfWay":
		return refused(abi.CodeStore, "the store is away")
	case req.GetState() == crusterv1.State_STATE_PAUSED:
		return nil
	default:
		return stream.Send(&crusterv1.MoveAllResponse{Done: 2, Result: unmoved("running")})
	}
}

func (fakeWorkflows) Fork(_ context.Context, req *crusterv1.ForkRequest) (*crusterv1.ForkResponse, error) {
	e, err := execution(req.GetExecution())
	if err != nil {
		return nil, err
	}
	e.Key = req.GetKey()
	if e.Key == "" {
		e.Key = "made-up"
	}
	e.Name, e.State, e.Error, e.Result, e.RunId = "shop/Buy/"+e.GetKey(), crusterv1.State_STATE_RUNNING, nil, nil, "00ff"
	return &crusterv1.ForkResponse{Execution: e}, nil
}

func needPaused(name string) error {
	e, err := execution(name)
	if err == nil && e.GetState() != crusterv1.State_STATE_PAUSED {
		return refused(abi.CodeNotPaused, "%s is not paused", name)
	}
	return err
}

type fakeDeferreds struct {
	crusterv1.UnimplementedDeferredServiceServer
}

func (fakeDeferreds) Resolve(_ context.Context, req *crusterv1.ResolveRequest) (*crusterv1.ResolveResponse, error) {
	return &crusterv1.ResolveResponse{}, unsettled(req.GetName())
}

func (fakeDeferreds) Reject(_ context.Context, req *crusterv1.RejectRequest) (*crusterv1.RejectResponse, error) {
	return &crusterv1.RejectResponse{}, unsettled(req.GetName())
}

func unsettled(name string) error {
	if name == "settled" {
		return refused(abi.CodeDeferredSettled, "the deferred %q was settled before", name)
	}
	return nil
}

// pushText is what a push asks for.
func pushText(m *crusterv1.PushMetadata) string {
	text := fmt.Sprintf("name %s, config %v, allow %v", m.GetName(), m.GetConfig(), m.GetAllowHttp())
	if len(m.GetUnsetConfig())+len(m.GetRevokeHttp()) > 0 || m.GetReplaceConfig() || m.GetReplaceHttp() || m.GetTakeAway() {
		text += fmt.Sprintf(", unset %v, replace %t, revoke %v, replace %t, anyway %t",
			m.GetUnsetConfig(), m.GetReplaceConfig(), m.GetRevokeHttp(), m.GetReplaceHttp(), m.GetTakeAway())
	}
	return text
}
