package client_test

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/test/bufconn"

	"github.com/cruster/cruster/abi"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/api/rpcerror"
	client "github.com/cruster/cruster/clients/go"
	"github.com/cruster/cruster/internal/addrtest"
	"github.com/cruster/cruster/internal/leaktest"
)

func TestMain(m *testing.M) { os.Exit(leaktest.Main(m)) }

// fakeHost answers with the functions of a test.
type fakeHost struct {
	crusterv1.UnimplementedDeploymentServiceServer
	crusterv1.UnimplementedDeferredServiceServer

	execute func(*crusterv1.StartExecutionRequest) (*crusterv1.StartExecutionResponse, error)
	resolve func(*crusterv1.ResolveDeferredRequest) (*crusterv1.ResolveDeferredResponse, error)
	reject  func(*crusterv1.RejectDeferredRequest) (*crusterv1.RejectDeferredResponse, error)
	push    func(meta *crusterv1.PushMetadata, binary []byte) (*crusterv1.PushResult, error)
	check   checkModule
}

func (f *fakeHost) ResolveDeferred(
	_ context.Context, req *crusterv1.ResolveDeferredRequest,
) (*crusterv1.ResolveDeferredResponse, error) {
	return f.resolve(req)
}

func (f *fakeHost) RejectDeferred(
	_ context.Context, req *crusterv1.RejectDeferredRequest,
) (*crusterv1.RejectDeferredResponse, error) {
	return f.reject(req)
}

func (f *fakeHost) UploadModule(
	stream grpc.ClientStreamingServer[crusterv1.UploadModuleRequest, crusterv1.UploadModuleResponse],
) error {
	var meta *crusterv1.PushMetadata
	var binary []byte
	for {
		part, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if m := part.GetMetadata(); m != nil {
			meta = m
		}
		binary = append(binary, part.GetChunk()...)
	}
	resp, err := f.push(meta, binary)
	if err != nil {
		return err
	}
	return stream.SendAndClose(&crusterv1.UploadModuleResponse{Result: resp})
}

func (f *fakeHost) CheckModule(
	stream grpc.BidiStreamingServer[crusterv1.CheckModuleRequest, crusterv1.CheckModuleResponse],
) error {
	var meta *crusterv1.CheckModuleMetadata
	var binary []byte
	for {
		part, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return f.check(meta, binary, stream.Send)
		}
		if err != nil {
			return err
		}
		if m := part.GetMetadata(); m != nil {
			meta = m
		}
		binary = append(binary, part.GetChunk()...)
	}
}

// fakeWorkflows is the workflow service of a fake host.
type fakeWorkflows struct {
	crusterv1.UnimplementedWorkflowServiceServer
	host      *fakeHost
	start     func(*crusterv1.StartExecutionRequest) (*crusterv1.StartExecutionResponse, error)
	wait      func(*crusterv1.WaitExecutionRequest) (*crusterv1.WaitExecutionResponse, error)
	poll      func(*crusterv1.GetExecutionRequest) (*crusterv1.GetExecutionResponse, error)
	interrupt func(*crusterv1.InterruptExecutionRequest) (*crusterv1.InterruptExecutionResponse, error)
	fail      func(*crusterv1.FailExecutionRequest) (*crusterv1.FailExecutionResponse, error)
	query     func(*crusterv1.QueryExecutionRequest) (*crusterv1.QueryExecutionResponse, error)
	update    func(*crusterv1.UpdateExecutionRequest) (*crusterv1.UpdateExecutionResponse, error)
	state     func(*crusterv1.GetExecutionStateRequest) (*crusterv1.GetExecutionStateResponse, error)
	signal    func(*crusterv1.SignalExecutionRequest) (*crusterv1.SignalExecutionResponse, error)
	withStart func(*crusterv1.SignalWithStartRequest) (*crusterv1.SignalWithStartResponse, error)
	move      func(*crusterv1.MoveExecutionRequest) (*crusterv1.MoveExecutionResponse, error)
	moveAll   func(req *crusterv1.MoveExecutionsRequest, send func(*crusterv1.MoveExecutionsResponse) error) error
	fork      func(*crusterv1.ForkExecutionRequest) (*crusterv1.ForkExecutionResponse, error)
}

func (f *fakeWorkflows) StartExecution(
	_ context.Context, req *crusterv1.StartExecutionRequest,
) (*crusterv1.StartExecutionResponse, error) {
	if req.GetWait() != nil {
		return f.host.execute(req)
	}
	return f.start(req)
}

func (f *fakeWorkflows) WaitExecution(
	_ context.Context, req *crusterv1.WaitExecutionRequest,
) (*crusterv1.WaitExecutionResponse, error) {
	return f.wait(req)
}

func (f *fakeWorkflows) GetExecution(
	_ context.Context, req *crusterv1.GetExecutionRequest,
) (*crusterv1.GetExecutionResponse, error) {
	return f.poll(req)
}

func (f *fakeWorkflows) FailExecution(
	_ context.Context, req *crusterv1.FailExecutionRequest,
) (*crusterv1.FailExecutionResponse, error) {
	return f.fail(req)
}

func (f *fakeWorkflows) QueryExecution(
	_ context.Context, req *crusterv1.QueryExecutionRequest,
) (*crusterv1.QueryExecutionResponse, error) {
	return f.query(req)
}

func (f *fakeWorkflows) UpdateExecution(
	_ context.Context, req *crusterv1.UpdateExecutionRequest,
) (*crusterv1.UpdateExecutionResponse, error) {
	return f.update(req)
}

func (f *fakeWorkflows) GetExecutionState(
	_ context.Context, req *crusterv1.GetExecutionStateRequest,
) (*crusterv1.GetExecutionStateResponse, error) {
	return f.state(req)
}

func (f *fakeWorkflows) SignalExecution(
	_ context.Context, req *crusterv1.SignalExecutionRequest,
) (*crusterv1.SignalExecutionResponse, error) {
	return f.signal(req)
}

func (f *fakeWorkflows) SignalWithStart(
	_ context.Context, req *crusterv1.SignalWithStartRequest,
) (*crusterv1.SignalWithStartResponse, error) {
	return f.withStart(req)
}

func (f *fakeWorkflows) InterruptExecution(
	_ context.Context, req *crusterv1.InterruptExecutionRequest,
) (*crusterv1.InterruptExecutionResponse, error) {
	return f.interrupt(req)
}

func (f *fakeWorkflows) MoveExecution(
	_ context.Context, req *crusterv1.MoveExecutionRequest,
) (*crusterv1.MoveExecutionResponse, error) {
	return f.move(req)
}

func (f *fakeWorkflows) MoveExecutions(
	req *crusterv1.MoveExecutionsRequest, stream grpc.ServerStreamingServer[crusterv1.MoveExecutionsResponse],
) error {
	return f.moveAll(req, stream.Send)
}

func (f *fakeWorkflows) ForkExecution(
	_ context.Context, req *crusterv1.ForkExecutionRequest,
) (*crusterv1.ForkExecutionResponse, error) {
	return f.fork(req)
}

type testBundle struct {
	host      *fakeHost
	workflows *fakeWorkflows
	entities  *fakeEntities
	client    *client.Client
	// refuse, if set, is asked before each connection.
	refuse func() error
	// stop ends the host.
	stop func()
}

func setup(t *testing.T, opts ...client.Option) *testBundle {
	t.Helper()
	b := &testBundle{host: &fakeHost{}, entities: &fakeEntities{}}
	b.workflows = &fakeWorkflows{host: b.host}
	server := grpc.NewServer(grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{
		MinTime: time.Second, PermitWithoutStream: true,
	}))
	crusterv1.RegisterDeploymentServiceServer(server, b.host)
	crusterv1.RegisterDeferredServiceServer(server, b.host)
	crusterv1.RegisterWorkflowServiceServer(server, b.workflows)
	crusterv1.RegisterEntityServiceServer(server, b.entities)
	b.stop = server.Stop
	listener := bufconn.Listen(1 << 20)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	dial := grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
		if b.refuse != nil {
			if err := b.refuse(); err != nil {
				return nil, err
			}
		}
		return listener.DialContext(ctx)
	})
	c, err := client.Dial("passthrough:///test", append([]client.Option{client.WithDialOptions(dial)}, opts...)...)
	require.NoError(t, err)
	b.client = c
	t.Cleanup(func() {
		require.NoError(t, c.Close())
		server.Stop()
		require.NoError(t, <-served)
	})
	return b
}

type order struct {
	ID    string  `json:"id"`
	Price float64 `json:"price"`
}

type receipt struct {
	Number int `json:"number"`
}

func completed(v any) *crusterv1.Execution {
	return &crusterv1.Execution{
		Name: "shop/Buy/k", State: crusterv1.State_STATE_COMPLETED,
		Result: &crusterv1.Payload{Data: &crusterv1.Payload_Msgpack{Msgpack: abi.MustMarshal(v)}},
	}
}

func failed(state crusterv1.State, e *abi.Error) *crusterv1.Execution {
	return &crusterv1.Execution{Name: "shop/Buy/k", State: state, Error: rpcerror.ToProto(e)}
}

func TestErrorsComeBackWhole(t *testing.T) {
	t.Parallel()
	b := setup(t)
	want := abi.Errorf(abi.CodeDeferredSettled, "it was settled before")
	b.host.reject = func(*crusterv1.RejectDeferredRequest) (*crusterv1.RejectDeferredResponse, error) {
		return nil, rpcerror.Status(want, 0).Err()
	}

	err := b.client.Reject(t.Context(), "shop/Buy/k", "approved", "no", "")
	var got *abi.Error
	require.ErrorAs(t, err, &got)
	require.Equal(t, want, got)

	err = client.Attach[receipt](b.client, "shop/Buy/k").Reject(t.Context(), "approved", "no", "")
	require.Equal(t, abi.CodeDeferredSettled, abi.CodeOf(err))
}

func TestUnreachableHost(t *testing.T) {
	t.Parallel()
	c, err := client.Dial(addrtest.Reserve(t), client.WithRetryFor(0))
	require.NoError(t, err)
	defer func() { require.NoError(t, c.Close()) }()

	_, err = client.Attach[receipt](c, "shop/Buy/k").Poll(t.Context())
	require.Equal(t, abi.CodeUnreachable, abi.CodeOf(err))
	require.ErrorContains(t, err, "connection refused")
	err = c.Resolve(t.Context(), "shop/Buy/k", "approved", true)
	require.Equal(t, abi.CodeUnreachable, abi.CodeOf(err))
	require.ErrorContains(t, err, "connection refused")
	_, err = c.Push(t.Context(), client.PushRequest{Name: "shop"})
	require.Equal(t, abi.CodeUnreachable, abi.CodeOf(err))
	require.ErrorContains(t, err, "connection refused")
}

// checkModule answers a request to check a module, one execution at a time.
type checkModule func(
	meta *crusterv1.CheckModuleMetadata, binary []byte, send func(*crusterv1.CheckModuleResponse) error,
) error
