package grpcserver_test

import (
	"context"
	"log/slog"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"github.com/cruster/cruster/abi"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/api/grpcserver"
	"github.com/cruster/cruster/host"
	"github.com/cruster/cruster/host/budget"
	"github.com/cruster/cruster/internal/leaktest"
	"github.com/cruster/cruster/journal"
)

func TestMain(m *testing.M) { os.Exit(leaktest.Main(m)) }

// fakeEngine answers with the functions of a test; a method without a function panics, which the server must survive.
type fakeEngine struct {
	fakeSchedules
	memory      *budget.Budget // of uploads; nil has much
	entities    fakeEntities
	ready       func(ctx context.Context) error
	push        func(ctx context.Context, req host.PushRequest) (*host.DeploymentInfo, error)
	deployments func(ctx context.Context, namespace string) ([]host.DeploymentInfo, error)
	deployment  func(ctx context.Context, namespace, name string) (*host.DeploymentInfo, error)
	start       func(ctx context.Context, req host.StartRequest) (*journal.Execution, bool, error)
	poll        func(ctx context.Context, namespace, execution string) (*journal.Execution, error)
	whole       func(exec *journal.Execution) (*journal.Execution, error)
	wait        func(ctx context.Context, namespace, execution string) (*journal.Execution, error)
	deferred    func(ctx context.Context, of journal.Receiver, s *journal.Settlement) (*journal.Deferred, error)
	describe    func(ctx context.Context, namespace, execution string) (*host.Description, error)
	follow      func(
		ctx context.Context, namespace, execution string, req host.FollowRequest, tell func(host.FollowEvent) error,
	) error
	history func(
		ctx context.Context, namespace, execution string, after uint64, limit int,
	) ([]journal.Entry, bool, error)
	list      func(ctx context.Context, f journal.Filter) (journal.Page, error)
	interrupt func(ctx context.Context, namespace, execution, reason string) error
	query     func(ctx context.Context, namespace, execution string, req host.QueryRequest) ([]byte, error)
	update    func(ctx context.Context, namespace, execution string, req host.UpdateRequest) (abi.Outcome, error)
	published func(row *journal.Execution) *journal.Published // nil has nothing
	outlines  atomic.Int32                                    // how often they were read
	signal    func(ctx context.Context, namespace, execution string, req host.SignalRequest) error
	withStart func(
		ctx context.Context, start host.StartRequest, signal host.SignalRequest,
	) (*journal.Execution, bool, error)
	workflowOf func(ctx context.Context, namespace, execution string) (*abi.WorkflowInfo, error)
	resume     func(ctx context.Context, namespace, execution string) error
	fail       func(ctx context.Context, namespace, execution, reason string) error
	settle     func(ctx context.Context, namespace, execution string, d journal.Deferred) error
	move       func(ctx context.Context, namespace, execution, to string) (*journal.Execution, error)
	require    func(ctx context.Context, namespace, workflow string) error
	fork       func(ctx context.Context, namespace, execution string, req host.ForkRequest) (*journal.Execution, error)
	check      func(ctx context.Context, req host.CheckRequest, report func(host.CheckResult, int, int) error) error
	run        atomic.Value // the last that was asked for
	waited     atomic.Int64 // the last wait
	restart    func(
		ctx context.Context, namespace, execution string, req host.RestartRequest,
	) (*journal.Execution, bool, error)
	delete func(ctx context.Context, namespace, execution, run string) error
}

// rooms are the rooms of the fake engine.
func (f *fakeEngine) rooms() *grpcserver.Engine {
	return &grpcserver.Engine{
		Deployments: fakeDeployments{f},
		Entities:    &f.entities,
		Executions:  f,
		Launcher:    f,
		Maintenance: f,
		Memory:      f,
		Observer:    f,
		Ready:       f.Ready,
		Schedules:   &f.fakeSchedules,
	}
}

// fakeDeployments are the deployments of a fake engine.
type fakeDeployments struct{ *fakeEngine }

func (f *fakeEngine) Ready(ctx context.Context) error {
	if f.ready == nil {
		return nil
	}
	return f.ready(ctx)
}

func (f fakeDeployments) Push(ctx context.Context, req host.PushRequest) (*host.DeploymentInfo, error) {
	return f.push(ctx, req)
}

func (f fakeDeployments) List(ctx context.Context, namespace string) ([]host.DeploymentInfo, error) {
	return f.deployments(ctx, namespace)
}

func (f fakeDeployments) Describe(ctx context.Context, namespace, name string) (*host.DeploymentInfo, error) {
	return f.deployment(ctx, namespace, name)
}

func (f *fakeEngine) Start(ctx context.Context, req host.StartRequest) (*journal.Execution, bool, error) {
	return f.start(ctx, req)
}

func (f *fakeEngine) Execute(
	ctx context.Context, req host.StartRequest, _ time.Duration,
) (*journal.Execution, bool, error) {
	exec, existed, err := f.start(ctx, req)
	if err == nil && exec.State == journal.Running {
		exec, err = f.wait(ctx, exec.Namespace, exec.Name())
	}
	return exec, existed, err
}

func (f *fakeEngine) Poll(ctx context.Context, namespace, execution string) (*journal.Execution, error) {
	return f.poll(ctx, namespace, execution)
}

func (f *fakeEngine) Whole(_ context.Context, exec *journal.Execution) (*journal.Execution, error) {
	return f.whole(exec)
}

func (f *fakeEngine) PollRun(ctx context.Context, namespace, execution, run string) (*journal.Execution, error) {
	f.run.Store(run)
	return f.poll(ctx, namespace, execution)
}

func (f *fakeEngine) WaitRun(
	ctx context.Context, namespace, execution, run string, wait time.Duration,
) (*journal.Execution, error) {
	f.waited.Store(int64(wait))
	f.run.Store(run)
	return f.wait(ctx, namespace, execution)
}

func (f *fakeEngine) DescribeRun(ctx context.Context, namespace, execution, run string) (*host.Description, error) {
	f.run.Store(run)
	return f.describe(ctx, namespace, execution)
}

func (f *fakeEngine) Follow(
	ctx context.Context, namespace, execution string, req host.FollowRequest, tell func(host.FollowEvent) error,
) error {
	return f.follow(ctx, namespace, execution, req, tell)
}

func (f *fakeEngine) Restart(
	ctx context.Context, namespace, execution string, req host.RestartRequest,
) (*journal.Execution, bool, error) {
	return f.restart(ctx, namespace, execution, req)
}

func (f *fakeEngine) Delete(ctx context.Context, namespace, execution, run string) error {
	return f.delete(ctx, namespace, execution, run)
}

func (f *fakeEngine) Update(
	ctx context.Context, namespace, execution string, req host.UpdateRequest,
) (abi.Outcome, error) {
	return f.update(ctx, namespace, execution, req)
}

func (f *fakeEngine) Published(_ context.Context, row *journal.Execution) (*journal.Published, error) {
	if f.published == nil {
		return &journal.Published{}, nil
	}
	return f.published(row), nil
}

func (f *fakeEngine) Outlines(_ context.Context, page []journal.Execution) (map[journal.ID]*journal.Published, error) {
	f.outlines.Add(1)
	outlines := map[journal.ID]*journal.Published{}
	for i := range page {
		if f.published != nil {
			outlines[page[i].ID] = f.published(&page[i])
		}
	}
	return outlines, nil
}

func (f *fakeEngine) UploadMemory() host.Permit {
	if f.memory == nil {
		return budget.New(1 << 30).Empty()
	}
	return f.memory.Empty()
}

func (f *fakeEngine) Deferred(
	ctx context.Context, of journal.Receiver, s *journal.Settlement,
) (*journal.Deferred, error) {
	return f.deferred(ctx, of, s)
}

func (f *fakeEngine) HistoryRun(
	ctx context.Context, namespace, execution, run string, after uint64, limit int,
) ([]journal.Entry, bool, error) {
	f.run.Store(run)
	return f.history(ctx, namespace, execution, after, limit)
}

func (f *fakeEngine) List(ctx context.Context, filter journal.Filter) (journal.Page, error) {
	return f.list(ctx, filter)
}

func (f *fakeEngine) Interrupt(ctx context.Context, namespace, execution, reason string) error {
	return f.interrupt(ctx, namespace, execution, reason)
}

func (f *fakeEngine) ResumeToStop(ctx context.Context, namespace, execution, reason string) error {
	return f.interrupt(ctx, namespace, execution, "resumed: "+reason)
}

func (f *fakeEngine) Terminate(ctx context.Context, namespace, execution, reason string) error {
	return f.interrupt(ctx, namespace, execution, "terminated: "+reason)
}

func (f *fakeEngine) Query(ctx context.Context, namespace, execution string, req host.QueryRequest) ([]byte, error) {
	return f.query(ctx, namespace, execution, req)
}

func (f *fakeEngine) Signal(ctx context.Context, namespace, execution string, req host.SignalRequest) error {
	return f.signal(ctx, namespace, execution, req)
}

func (f *fakeEngine) SignalWithStart(
	ctx context.Context, start host.StartRequest, signal host.SignalRequest,
) (*journal.Execution, bool, error) {
	return f.withStart(ctx, start, signal)
}

func (f *fakeEngine) WorkflowOf(ctx context.Context, namespace, execution string) (*abi.WorkflowInfo, error) {
	return f.workflowOf(ctx, namespace, execution)
}

func (f *fakeEngine) Resume(ctx context.Context, namespace, execution string) error {
	return f.resume(ctx, namespace, execution)
}

func (f *fakeEngine) Fail(ctx context.Context, namespace, execution, reason string) error {
	return f.fail(ctx, namespace, execution, reason)
}

func (f *fakeEngine) Settle(ctx context.Context, namespace, execution string, d journal.Deferred) error {
	return f.settle(ctx, namespace, execution, d)
}

func (f *fakeEngine) Move(ctx context.Context, namespace, execution, to string) (*journal.Execution, error) {
	return f.move(ctx, namespace, execution, to)
}

func (f *fakeEngine) RequireWorkflow(ctx context.Context, namespace, workflow string) error {
	if f.require == nil {
		return nil
	}
	return f.require(ctx, namespace, workflow)
}

func (f *fakeEngine) Fork(
	ctx context.Context, namespace, execution string, req host.ForkRequest,
) (*journal.Execution, error) {
	return f.fork(ctx, namespace, execution, req)
}

func (f fakeDeployments) Check(
	ctx context.Context, req host.CheckRequest, report func(host.CheckResult, int, int) error,
) error {
	return f.check(ctx, req, report)
}

type testBundle struct {
	engine    *fakeEngine
	server    *grpcserver.Server
	registry  *prometheus.Registry
	dial      func(context.Context) (net.Conn, error)
	conn      *grpc.ClientConn
	modules   crusterv1.DeploymentServiceClient
	workflows crusterv1.WorkflowServiceClient
	deferreds crusterv1.DeferredServiceClient
}

const maxModule = 1 << 20

func setup(t *testing.T) *testBundle {
	t.Helper()
	return setupWith(t, nil)
}

// setupWith is setup of a server whose calls take their memory from somewhere.
func setupWith(t *testing.T, memory grpcserver.RequestMemory) *testBundle {
	t.Helper()
	return setupConfig(t, grpcserver.Config{RequestMemory: memory})
}

func setupConfig(t *testing.T, cfg grpcserver.Config) *testBundle {
	t.Helper()
	b := &testBundle{engine: &fakeEngine{}, registry: prometheus.NewRegistry()}
	cfg.Engine, cfg.Registerer, cfg.MaxModuleSize, cfg.Logger = b.engine.rooms(), b.registry, maxModule, slog.New(
		slog.DiscardHandler,
	)
	var err error
	b.server, err = grpcserver.New(cfg)
	require.NoError(t, err)
	listener := bufconn.Listen(1 << 20)
	served := make(chan error, 1)
	go func() { served <- b.server.Serve(listener) }()
	b.dial = listener.DialContext
	b.conn, err = grpc.NewClient("passthrough:///test",
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return b.dial(ctx) }))
	require.NoError(t, err)
	b.modules, b.workflows, b.deferreds = crusterv1.NewDeploymentServiceClient(
		b.conn,
	), crusterv1.NewWorkflowServiceClient(b.conn), crusterv1.NewDeferredServiceClient(b.conn)
	t.Cleanup(func() {
		require.NoError(t, b.conn.Close())
		b.server.Shutdown(context.Background())
		require.NoError(t, <-served)
	})
	return b
}

// detailsOf takes a failed call apart.
func detailsOf(
	t *testing.T, err error,
) (st *status.Status, info *errdetails.ErrorInfo, wire *crusterv1.Error, retry *errdetails.RetryInfo) {
	t.Helper()
	require.Error(t, err)
	st = status.Convert(err)
	for _, d := range st.Details() {
		switch d := d.(type) {
		case *errdetails.ErrorInfo:
			info = d
		case *crusterv1.Error:
			wire = d
		case *errdetails.RetryInfo:
			retry = d
		}
	}
	return st, info, wire, retry
}

func TestConfigIsChecked(t *testing.T) {
	t.Parallel()

	_, err := grpcserver.New(grpcserver.Config{})
	require.Equal(t, abi.CodeBadConfig, abi.CodeOf(err))
	_, err = grpcserver.New(grpcserver.Config{Engine: (&fakeEngine{}).rooms(), MaxModuleSize: -1})
	require.Equal(t, abi.CodeBadConfig, abi.CodeOf(err))
}

func TestErrorsCarryCodeAndHint(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.engine.poll = func(context.Context, string, string) (*journal.Execution, error) {
		return nil, abi.Errorf(abi.CodeExecutionNotFound, "there is no execution %q", "a/B/c")
	}

	_, err := b.workflows.GetExecution(t.Context(), &crusterv1.GetExecutionRequest{Execution: "a/B/c"})
	st, info, wire, retry := detailsOf(t, err)
	require.Equal(t, codes.NotFound, st.Code())
	require.Equal(t, "CR-2004", info.GetReason())
	require.Equal(t, "cruster.dev", info.GetDomain())
	require.Equal(t, abi.CodeExecutionNotFound.Info().Hint, info.GetMetadata()["hint"])
	require.Equal(t, `there is no execution "a/B/c"`, wire.GetMessage())
	require.Nil(t, retry)
}

func TestOverloadNamesADelay(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.engine.start = func(context.Context, host.StartRequest) (*journal.Execution, bool, error) {
		return nil, false, &host.Overloaded{Reason: abi.Errorf(abi.CodeOverloaded, "full"), After: 3 * time.Second}
	}

	_, err := b.workflows.StartExecution(
		t.Context(), &crusterv1.StartExecutionRequest{Start: &crusterv1.StartOptions{Workflow: "a/B"}},
	)
	st, _, wire, retry := detailsOf(t, err)
	require.Equal(t, codes.ResourceExhausted, st.Code())
	require.Equal(t, "CR-5002", wire.GetCode())
	require.Equal(t, 3*time.Second, retry.GetRetryDelay().AsDuration())
}

func TestHugeErrorsStillArrive(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.engine.resume = func(context.Context, string, string) error {
		e := abi.Errorf(abi.CodeGuestTrap, "%s\xff", strings.Repeat("x", 1<<20))
		e.Details = make([]byte, 1<<20)
		return e
	}

	_, err := b.workflows.ResumeExecution(t.Context(), &crusterv1.ResumeExecutionRequest{Execution: "a/B/c"})
	_, _, wire, _ := detailsOf(t, err)
	require.Equal(t, "CR-4007", wire.GetCode())
	require.Less(t, len(wire.GetMessage()), 8<<10)
	require.Empty(t, wire.GetDetails())
}

func TestPanicCostsOneCall(t *testing.T) {
	t.Parallel()
	b := setup(t)

	_, err := b.workflows.GetExecution(t.Context(), &crusterv1.GetExecutionRequest{Execution: "a/B/c"}) // poll is nil
	st, _, wire, _ := detailsOf(t, err)
	require.Equal(t, codes.Internal, st.Code())
	require.Equal(t, "CR-5001", wire.GetCode())

	b.engine.resume = func(context.Context, string, string) error { return nil }
	_, err = b.workflows.ResumeExecution(t.Context(), &crusterv1.ResumeExecutionRequest{Execution: "a/B/c"})
	require.NoError(t, err, "the server goes on")
}

func TestRequestIDIsToldAndTaken(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.engine.resume = func(context.Context, string, string) error { return nil }
	call := func(id string) string {
		var header metadata.MD
		ctx := metadata.AppendToOutgoingContext(t.Context(), grpcserver.RequestIDHeader, id)
		_, err := b.workflows.ResumeExecution(
			ctx, &crusterv1.ResumeExecutionRequest{Execution: "a/B/c"}, grpc.Header(&header),
		)
		require.NoError(t, err)
		return header.Get(grpcserver.RequestIDHeader)[0]
	}

	require.Equal(t, "mine-1", call("mine-1"))
	require.NotEmpty(t, call(""))
	long := strings.Repeat("x", 1000)
	require.NotEqual(t, long, call(long), "an id that would flood the log is replaced")
}

func TestOversizedRequestIsRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)

	_, err := b.deferreds.ResolveDeferred(t.Context(), &crusterv1.ResolveDeferredRequest{
		Execution: "a/B/c",
		Name:      "d",
		Value:     &crusterv1.Payload{Data: &crusterv1.Payload_Msgpack{Msgpack: make([]byte, abi.MaxBody+1)}},
	})
	st, _, wire, _ := detailsOf(t, err)
	require.Equal(t, codes.InvalidArgument, st.Code())
	require.Equal(t, string(abi.CodePayloadTooLarge), wire.GetCode())

	_, err = b.workflows.GetExecution(
		t.Context(), &crusterv1.GetExecutionRequest{Execution: strings.Repeat("x", 18<<20)},
	)
	require.Equal(t, codes.ResourceExhausted, status.Code(err), "the transport has a limit of its own")
}

// A call cannot bring more metadata than a log or a trace needs.
func TestTooMuchMetadata(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := metadata.AppendToOutgoingContext(t.Context(), "x-bomb", strings.Repeat("x", 1<<20))
	_, err := b.modules.ListDeployments(ctx, &crusterv1.ListDeploymentsRequest{})
	require.Error(t, err)
	b.engine.deployments = func(context.Context, string) ([]host.DeploymentInfo, error) { return nil, nil }
	_, err = b.modules.ListDeployments(t.Context(), &crusterv1.ListDeploymentsRequest{})
	require.NoError(t, err, "the others are served")
}
