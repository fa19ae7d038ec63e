package grpcserver_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/cruster/cruster/abi"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/api/grpcserver"
	"github.com/cruster/cruster/api/rpcerror"
	"github.com/cruster/cruster/host"
	"github.com/cruster/cruster/host/budget"
	"github.com/cruster/cruster/journal"
)

// requestMemory is the memory of a host for requests.
type requestMemory struct{ *budget.Budget }

func (m requestMemory) AdmitConnection() (func(), bool) { return func() {}, true }

func (m requestMemory) AdmitRequest(bytes int64) (func(), bool) {
	permit := m.Empty()
	return permit.Release, permit.Grow(bytes)
}

func (m requestMemory) AdmitAnswer(ctx context.Context, bytes int64) (grpcserver.AnswerPermit, error) {
	return m.Acquire(ctx, bytes)
}

// rawCaller speaks in frames.
type rawCaller struct {
	t    *testing.T
	conn net.Conn
	*http2.Framer
}

func (b *testBundle) rawCaller(t *testing.T) *rawCaller {
	t.Helper()
	conn, err := b.dial(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	_, err = io.WriteString(conn, http2.ClientPreface)
	require.NoError(t, err)
	c := &rawCaller{t, conn, http2.NewFramer(conn, conn)}
	c.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	require.NoError(t, c.WriteSettings())
	return c
}

// begin begins a call, and sends nothing more of it.
func (c *rawCaller) begin(stream uint32, method string) {
	c.t.Helper()
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	for _, field := range [][2]string{
		{":method", "POST"},
		{":scheme", "http"},
		{":path", method},
		{":authority", "test"},
		{"content-type", "application/grpc"},
		{"te", "trailers"},
	} {
		require.NoError(c.t, encoder.WriteField(hpack.HeaderField{Name: field[0], Value: field[1]}))
	}
	require.NoError(
		c.t, c.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: block.Bytes(), EndHeaders: true}),
	)
}

// answered reads until the host has answered a ping, and returns the statuses of the calls that it has ended by then.
func (c *rawCaller) answered() map[uint32]string {
	c.t.Helper()
	require.NoError(c.t, c.WritePing(false, [8]byte{1}))
	ended := map[uint32]string{}
	for {
		frame, err := c.ReadFrame()
		require.NoError(c.t, err)
		switch f := frame.(type) {
		case *http2.PingFrame:
			if f.IsAck() {
				return ended
			}
		case *http2.MetaHeadersFrame:
			for _, field := range f.RegularFields() {
				if field.Name == "grpc-status" {
					ended[f.StreamID] = field.Value
				}
			}
		}
	}
}

// TestCallsBeyondTheMemoryAreRefused: callers begin calls and send nothing of them. Calls without
// memory for them are refused, and so are calls of others, for as long as the calls are open.
func TestCallsBeyondTheMemoryAreRefused(t *testing.T) {
	t.Parallel()
	const callCost, places, calls = 8 << 10, 4, 50
	memory := requestMemory{budget.New(places * callCost)}
	b := setupWith(t, memory)
	b.engine.deployments = func(context.Context, string) ([]host.DeploymentInfo, error) { return nil, nil }
	caller := b.rawCaller(t)
	for i := range uint32(calls) {
		caller.begin(2*i+1, crusterv1.WorkflowService_StartExecution_FullMethodName)
	}
	ended := caller.answered()
	require.Len(t, ended, calls-places)
	for i := range uint32(calls) {
		require.Equal(t, i < places, ended[2*i+1] != "8", "call %d", i)
	}
	_, err := b.modules.ListDeployments(t.Context(), &crusterv1.ListDeploymentsRequest{})
	require.Equal(t, abi.CodeOverloaded, abi.CodeOf(rpcerror.From(err)))
	_, ok := rpcerror.RetryDelay(err)
	require.True(t, ok)

	require.NoError(t, caller.WriteRSTStream(1, http2.ErrCodeCancel))
	caller.answered()
	_, err = b.modules.ListDeployments(t.Context(), &crusterv1.ListDeploymentsRequest{})
	require.NoError(t, err)
}

// TestMessagesArePaidForWhileTheyAreHandled: the caller gives a call up, and its handler goes on.
func TestMessagesArePaidForWhileTheyAreHandled(t *testing.T) {
	t.Parallel()
	memory := requestMemory{budget.New(64 << 20)}
	b := setupWith(t, memory)
	begun, goOn := make(chan struct{}), make(chan struct{})
	b.engine.start = func(ctx context.Context, _ host.StartRequest) (*journal.Execution, bool, error) {
		close(begun)
		<-ctx.Done()
		<-goOn
		return nil, false, ctx.Err()
	}
	const length = 1 << 20
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error, 1)
	go func() {
		_, err := b.workflows.StartExecution(ctx, &crusterv1.StartExecutionRequest{Start: &crusterv1.StartOptions{
			Workflow: "a/B",
			Input: &crusterv1.Payload{
				Data: &crusterv1.Payload_Msgpack{Msgpack: abi.MustMarshal(strings.Repeat("x", length))},
			},
		}})
		failed <- err
	}()
	<-begun
	cancel()
	require.Equal(t, codes.Canceled, status.Code(<-failed))
	b.rawCaller(t).answered()
	require.Greater(t, memory.Used(), int64(2*length))
	close(goOn)
	b.server.Shutdown(context.Background())
	require.Zero(t, memory.Used())
}

// TestMessagesOfNamesAreSmall: a message that is too large for its method is refused before it is received.
func TestMessagesOfNamesAreSmall(t *testing.T) {
	t.Parallel()
	memory := requestMemory{budget.New(64 << 20)}
	b := setupWith(t, memory)
	_, err := b.workflows.GetExecution(
		t.Context(), &crusterv1.GetExecutionRequest{Execution: strings.Repeat("x", 2<<20)},
	)
	require.Equal(t, abi.CodePayloadTooLarge, abi.CodeOf(rpcerror.From(err)))
	require.Contains(t, rpcerror.From(err).Error(), "this method")
}

// TestPagesArePaidForBeforeTheyAreRead: a history waits for the memory of a page, and the unneeded
// part is free for others while the answer is on its way.
func TestPagesArePaidForBeforeTheyAreRead(t *testing.T) {
	t.Parallel()
	memory := requestMemory{budget.New(16 << 20)}
	b := setupWith(t, memory)
	read := make(chan int64, 1)
	b.engine.history = func(context.Context, string, string, uint64, int) ([]journal.Entry, bool, error) {
		read <- memory.Used()
		return nil, false, nil
	}
	others := memory.Empty()
	require.True(t, others.Grow(8<<20))
	answered := make(chan error, 1)
	go func() {
		_, err := b.workflows.ListHistory(t.Context(), &crusterv1.ListHistoryRequest{Execution: "a/B/c"})
		answered <- err
	}()
	require.Eventually(t, func() bool { return memory.Waiting() == 1 }, time.Hour, time.Millisecond)
	require.Empty(t, read)
	others.Release()
	require.NoError(t, <-answered)
	require.Greater(t, <-read, int64(12<<20-1<<13))
	b.rawCaller(t).answered()
	require.Eventually(t, func() bool { return memory.Used() == 0 }, time.Hour, time.Millisecond)
}

// TestResultsArePaidForBeforeTheyAreRead: hundreds of callers wait for the same large result. Each has memory for it
// before it is read, so that few have it at a time. All are answered.
func TestResultsArePaidForBeforeTheyAreRead(t *testing.T) {
	t.Parallel()
	const callers, large, total = 400, 256 << 10, 8 << 20
	memory := requestMemory{budget.New(total)}
	b := setupWith(t, memory)
	var begun atomic.Int64
	all := make(chan struct{})
	b.engine.wait = func(context.Context, string, string) (*journal.Execution, error) {
		if begun.Add(1) == callers { // each has taken the memory of a call, and the rest is less than a result
			close(all)
		}
		<-all
		return &journal.Execution{
			Workflow: "a/B", Key: "c", State: journal.Completed, LeftOut: journal.Sizes{Value: large},
		}, nil
	}
	var whole atomic.Int64
	b.engine.whole = func(exec *journal.Execution) (*journal.Execution, error) {
		whole.Add(1)
		row := *exec
		row.Value, row.LeftOut = abi.MustMarshal(strings.Repeat("x", large)), journal.Sizes{}
		return &row, nil
	}
	others := memory.Empty()
	require.True(t, others.Grow(total-callers*(8<<10)-1<<16))
	answered := make(chan error, callers)
	for range callers {
		go func() {
			resp, err := b.workflows.WaitExecution(t.Context(), &crusterv1.WaitExecutionRequest{
				Execution: "a/B/c", Encoding: crusterv1.Encoding_ENCODING_MSGPACK,
			})
			if err == nil && len(resp.GetExecution().GetResult().GetMsgpack()) < large {
				err = errors.New("the result is not there")
			}
			answered <- err
		}()
	}
	require.Eventually(t, func() bool { return memory.Waiting() == callers }, time.Hour, time.Millisecond)
	require.Zero(t, whole.Load(), "none is read before it is paid for")
	others.Release()
	for range callers {
		require.NoError(t, <-answered)
	}
	require.EqualValues(t, callers, whole.Load())
	b.rawCaller(t).answered()
	require.Eventually(t, func() bool { return memory.Used() == 0 }, time.Hour, time.Millisecond)
}

// TestAResultThatIsDeletedMeanwhile: the caller of an execution whose result was deleted while the caller waited for
// memory is told that.
func TestAResultThatIsDeletedMeanwhile(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.engine.wait = func(context.Context, string, string) (*journal.Execution, error) {
		return &journal.Execution{
			Workflow: "a/B", Key: "c", State: journal.Completed, LeftOut: journal.Sizes{Value: 1 << 20},
		}, nil
	}
	b.engine.whole = func(*journal.Execution) (*journal.Execution, error) {
		return nil, abi.Errorf(abi.CodeExecutionNotFound, "there is no such execution")
	}
	_, err := b.workflows.WaitExecution(t.Context(), &crusterv1.WaitExecutionRequest{Execution: "a/B/c"})
	require.Equal(t, abi.CodeExecutionNotFound, abi.CodeOf(rpcerror.From(err)))
	require.Contains(t, rpcerror.From(err).Error(), "a/B/c is completed; it was deleted")
}

// TestAnswersOfGuestsArePaidFor: an answer whose size no one knows before it is there is paid for before it is encoded.
func TestAnswersOfGuestsArePaidFor(t *testing.T) {
	t.Parallel()
	const large, total = 1 << 20, 8 << 20
	memory := requestMemory{budget.New(total)}
	b := setupWith(t, memory)
	b.engine.query = func(context.Context, string, string, host.QueryRequest) ([]byte, error) {
		return abi.MustMarshal(strings.Repeat("x", large)), nil
	}
	others := memory.Empty()
	require.True(t, others.Grow(total-1<<20))
	answered := make(chan error, 1)
	go func() {
		_, err := b.workflows.QueryExecution(t.Context(), &crusterv1.QueryExecutionRequest{
			Execution: "a/B/c", Name: "q", Encoding: crusterv1.Encoding_ENCODING_MSGPACK,
		})
		answered <- err
	}()
	require.Eventually(t, func() bool { return memory.Waiting() == 1 }, time.Hour, time.Millisecond)
	require.Empty(t, answered)
	others.Release()
	require.NoError(t, <-answered)
	b.rawCaller(t).answered()
	require.Eventually(t, func() bool { return memory.Used() == 0 }, time.Hour, time.Millisecond)
}

// TestConnectionsBeyondTheLimitAreRefused: a connection that is one too many is closed at once, and there is room again
// when another one has ended.
func TestConnectionsBeyondTheLimitAreRefused(t *testing.T) {
	t.Parallel()
	b := setupConfig(t, grpcserver.Config{MaxConnections: 2})
	first, second := b.rawCaller(t), b.rawCaller(t)
	first.answered()
	second.answered()
	third, err := b.dial(t.Context())
	require.NoError(t, err)
	_, err = third.Read(make([]byte, 1))
	require.ErrorIs(t, err, io.EOF)
	require.EqualValues(t, 1, gathered(t, b.registry, "cruster_connections_refused_total"))
	require.EqualValues(t, 2, gathered(t, b.registry, "cruster_connections"))
	second.answered()

	require.NoError(t, first.conn.Close())
	require.Eventually(
		t, func() bool { return gathered(t, b.registry, "cruster_connections") == 1 }, time.Hour, time.Millisecond,
	)
	b.rawCaller(t).answered()
}

// gathered is a metric without labels.
func gathered(t *testing.T, reg prometheus.Gatherer, name string) int64 {
	t.Helper()
	families, err := reg.Gather()
	require.NoError(t, err)
	for _, family := range families {
		if family.GetName() == name {
			return int64(family.GetMetric()[0].GetCounter().GetValue() + family.GetMetric()[0].GetGauge().GetValue())
		}
	}
	t.Fatalf("there is no metric %s", name)
	return 0
}
