package grpcserver

import (
	"context"
	"encoding/binary"
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"
	"pgregory.net/rapid"

	"github.com/cruster/cruster/abi"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/api/rpcerror"
	"github.com/cruster/cruster/host/budget"
)

// requestBudget is the memory of a host for requests.
type requestBudget struct{ *budget.Budget }

func (requestBudget) AdmitConnection() (func(), bool) { return func() {}, true }

func (b requestBudget) AdmitRequest(bytes int64) (func(), bool) {
	permit := b.Empty()
	return permit.Release, permit.Grow(bytes)
}

func (b requestBudget) AdmitAnswer(ctx context.Context, bytes int64) (AnswerPermit, error) {
	return b.Acquire(ctx, bytes)
}

// counted is a connection of a host whose caller speaks in frames, and the host's side of it.
type counted struct {
	*countedConn
	t      *testing.T
	budget *budget.Budget
	caller net.Conn
	frames *http2.Framer // of the caller
	host   *http2.Framer
}

func newCounted(t *testing.T, bytes int64) *counted {
	t.Helper()
	near, far := net.Pipe()
	b := budget.New(bytes)
	c := &counted{
		countedConn: newCountedConn(
			far, newArrivals(maxRequest, requestBudget{b}, newConnections(&Config{MaxConnections: 1})), func() {},
		),
		t:      t,
		budget: b,
		caller: near,
		frames: http2.NewFramer(near, nil),
	}
	c.host = http2.NewFramer(c.countedConn, c.countedConn)
	t.Cleanup(func() {
		require.NoError(t, c.Close())
		require.Zero(t, b.Used(), "all of it is given back with the connection")
	})
	go func() { _, _ = io.WriteString(near, clientPreface) }()
	_, err := io.ReadFull(c.countedConn, make([]byte, len(clientPreface)))
	require.NoError(t, err)
	return c
}

// send has the caller send something, and the host read it.
func (c *counted) send(write func(f *http2.Framer) error) http2.Frame {
	c.t.Helper()
	sent := make(chan error, 1)
	go func() { sent <- write(c.frames) }()
	f, err := c.host.ReadFrame()
	require.NoError(c.t, err)
	require.NoError(c.t, <-sent)
	return f
}

func (c *counted) open(stream uint32) {
	c.t.Helper()
	c.send(func(f *http2.Framer) error {
		return f.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: []byte("x"), EndHeaders: true})
	})
}

func (c *counted) data(stream uint32, data []byte) []byte {
	c.t.Helper()
	f := c.send(func(f *http2.Framer) error { return f.WriteData(stream, false, data) })
	return f.(*http2.DataFrame).Data()
}

func prefixOf(length int) []byte { return binary.BigEndian.AppendUint32([]byte{0}, uint32(length)) }

// TestMessagesPayBeforeTheyArrive: a message takes its memory when its length is known, and gives it back when its call
// has ended.
func TestMessagesPayBeforeTheyArrive(t *testing.T) {
	t.Parallel()
	c := newCounted(t, 1<<20)
	c.open(1)
	require.EqualValues(t, callCost, c.budget.Used())
	c.data(1, append(prefixOf(10), make([]byte, 10)...))
	require.EqualValues(t, callCost, c.budget.Used(), "a small message is a part of its call")
	c.data(1, prefixOf(100_000)[:3])
	c.data(1, prefixOf(100_000)[3:])
	require.EqualValues(t, callCost+messageCopies*100_000, c.budget.Used(), "before it is there")
	for range 10 {
		c.data(1, make([]byte, 10_000))
	}
	require.EqualValues(t, callCost+messageCopies*100_000, c.budget.Used(), "the call has it")
	c.open(3)
	c.data(3, prefixOf(50_000))
	require.EqualValues(t, 2*callCost+messageCopies*150_000, c.budget.Used())
	c.send(func(f *http2.Framer) error { return f.WriteRSTStream(3, http2.ErrCodeCancel) })
	require.EqualValues(t, callCost+messageCopies*100_000, c.budget.Used(), "the caller gave it up")

	go func() { _, _ = io.Copy(io.Discard, c.caller) }()
	require.NoError(
		t, c.host.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: []byte("x"), EndHeaders: true}),
	)
	require.NotZero(t, c.budget.Used(), "that was the begin of its answer")
	require.NoError(
		t,
		c.host.WriteHeaders(http2.HeadersFrameParam{
			StreamID: 1, BlockFragment: []byte("x"), EndHeaders: true, EndStream: true,
		}),
	)
	require.Zero(t, c.budget.Used())
}

// TestACallThatFailsGivesBackItsAnswer: the memory of the answer is released while the status is still to be sent.
func TestACallThatFailsGivesBackItsAnswer(t *testing.T) {
	t.Parallel()
	c := newCounted(t, 1<<20)
	c.open(1)
	in := &interceptors{
		clock:    clockwork.NewRealClock(),
		lifetime: newLifetime(),
		log:      slog.New(slog.DiscardHandler),
		metrics:  newMetrics(nil),
	}
	ctx := context.WithValue(t.Context(), arrivalKey{}, c.calls[1])
	_, err := in.unary(
		ctx,
		&crusterv1.GetExecutionRequest{},
		&grpc.UnaryServerInfo{FullMethod: "/a.B/C"},
		func(ctx context.Context, _ any) (any, error) {
			require.NoError(t, arrivalOf(ctx).admitAnswer(ctx, 100_000))
			require.EqualValues(t, callCost+100_000, c.budget.Used())
			return nil, abi.Errorf(abi.CodeExecutionNotFound, "there is none")
		},
	)
	require.Equal(t, codes.NotFound, status.Code(err))
	require.EqualValues(t, callCost, c.budget.Used(), "its status is not on the wire yet")
}

// TestMessagesWithoutMemoryAreRefused: a message that there is no memory for is refused by its
// length. A message that cannot be refused any more ends its connection.
func TestMessagesWithoutMemoryAreRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCounted(t, 600_000)
		c.open(1)
		c.data(1, prefixOf(250_000))
		c.open(3)
		refused := c.data(3, append(prefixOf(100_000), 1, 2, 3))
		require.Equal(t, uint32(rpcerror.RefusedLength), binary.BigEndian.Uint32(refused[1:]))
		require.Equal(t, []byte{1, 2, 3}, refused[5:])
		c.data(3, make([]byte, 1000))
		require.EqualValues(t, 2*callCost+messageCopies*250_000, c.budget.Used())

		c.data(3, nil)
		c.open(5)
		c.data(5, prefixOf(100_000)[:2])
		go func() { _ = c.frames.WriteData(5, false, prefixOf(100_000)[2:]) }()
		_, err := c.host.ReadFrame()
		require.ErrorIs(t, err, errMessageRefused)
		require.NoError(t, c.caller.Close())
	})
}

// TestUnfinishedMessagesEnd: a message that does not come to its end gives its memory back, with its
// connection.
func TestUnfinishedMessagesEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCounted(t, 1<<20)
		c.open(1)
		c.data(1, append(prefixOf(100_000), 1))
		_, err := c.caller.Read(make([]byte, 1))
		require.ErrorIs(t, err, io.EOF, "the host has closed it")
		require.Zero(t, c.budget.Used())
	})
}

// tapped has the transport ask about the call that has just begun.
func (c *counted) tapped(method string) (context.Context, error) {
	ctx := peer.NewContext(c.t.Context(), &peer.Peer{Addr: c.RemoteAddr()})
	return c.arrivals.tap(ctx, &tap.Info{FullMethodName: method})
}

// TestCallsAreRefusedForThemselves: a call that there is no memory for is refused. Others are not, once there is
// memory, also while the caller has not read that.
func TestCallsAreRefusedForThemselves(t *testing.T) {
	t.Parallel()
	c := newCounted(t, 2*callCost)
	for stream := uint32(1); stream <= 3; stream += 2 {
		c.open(stream)
		_, err := c.tapped(crusterv1.WorkflowService_GetExecution_FullMethodName)
		require.NoError(t, err)
	}
	c.open(5)
	_, err := c.tapped(crusterv1.WorkflowService_GetExecution_FullMethodName)
	require.Error(t, err)
	delay, ok := rpcerror.RetryDelay(err)
	require.True(t, ok)
	require.Equal(t, refusedFor, delay)

	c.send(func(f *http2.Framer) error { return f.WriteRSTStream(1, http2.ErrCodeCancel) })
	c.open(7)
	_, err = c.tapped(crusterv1.WorkflowService_GetExecution_FullMethodName)
	require.NoError(t, err, "the refusal of the other is under way")
}

// TestLargeHeadersPay: headers beyond the usual size are paid for, or the call is refused.
func TestLargeHeadersPay(t *testing.T) {
	t.Parallel()
	c := newCounted(t, callCost+32<<10)
	ctx := peer.NewContext(t.Context(), &peer.Peer{Addr: c.RemoteAddr()})
	large := &tap.Info{Header: metadata.Pairs("x", strings.Repeat("x", 20<<10))}
	c.open(1)
	_, err := c.arrivals.tap(ctx, large)
	require.NoError(t, err)
	require.Greater(t, c.budget.Used(), int64(callCost+16<<10))
	c.open(3)
	_, err = c.arrivals.tap(ctx, large)
	require.Equal(t, codes.ResourceExhausted, status.Code(err))
	c.send(func(f *http2.Framer) error { return f.WriteRSTStream(1, http2.ErrCodeCancel) })
	c.open(5)
	_, err = c.arrivals.tap(ctx, large)
	require.NoError(t, err)
}

// TestHandlersKeepWhatTheyHave: a caller that gives up a call does not have its memory given back while the handler has
// its message. A handler that begins after that does not run.
func TestHandlersKeepWhatTheyHave(t *testing.T) {
	t.Parallel()
	c := newCounted(t, 1<<20)
	c.open(1)
	ctx, err := c.tapped(crusterv1.WorkflowService_StartExecution_FullMethodName)
	require.NoError(t, err)
	c.data(1, prefixOf(100_000))
	done, err := arrivalOf(ctx).handle()
	require.NoError(t, err)
	c.send(func(f *http2.Framer) error { return f.WriteRSTStream(1, http2.ErrCodeCancel) })
	require.EqualValues(t, callCost+messageCopies*100_000, c.budget.Used())
	done()
	require.Zero(t, c.budget.Used())
	_, err = arrivalOf(ctx).handle()
	require.Equal(t, codes.Canceled, status.Code(err))

	c.open(3)
	ctx, err = c.tapped(crusterv1.WorkflowService_StartExecution_FullMethodName)
	require.NoError(t, err)
	c.data(3, prefixOf(100_000))
	done, err = arrivalOf(ctx).handle()
	require.NoError(t, err)
	done()
	require.EqualValues(t, callCost, c.budget.Used(), "its answer is on its way")
	done, err = arrivalOf(ctx).handle()
	require.NoError(t, err)
	require.NoError(t, c.Close())
	require.EqualValues(t, callCost, c.budget.Used())
	done()
	require.Zero(t, c.budget.Used())
}

// TestEachMethodHasItsLimit: a message that is too large for its method is refused by its length, before it arrives.
func TestEachMethodHasItsLimit(t *testing.T) {
	t.Parallel()
	l := limitsOf(33 << 20)
	for method, want := range map[string]int64{
		crusterv1.DeploymentService_PushModule_FullMethodName:      33 << 20,
		crusterv1.DeploymentService_CheckModule_FullMethodName:     33 << 20,
		crusterv1.DeploymentService_ListDeployments_FullMethodName: envelope,
		crusterv1.WorkflowService_GetExecution_FullMethodName:      envelope,
		crusterv1.WorkflowService_StartExecution_FullMethodName:    maxRequest,
		crusterv1.EntityService_StreamCalls_FullMethodName:         maxRequest,
		crusterv1.ScheduleService_CreateSchedule_FullMethodName:    maxRequest,
		crusterv1.DeferredService_ResolveDeferred_FullMethodName:   maxRequest,
		"/grpc.health.v1.Health/Check":                             envelope,
	} {
		bytes, _ := l.of(method)
		require.Equal(t, want, bytes, method)
	}
	c := newCounted(t, 100<<20)
	c.open(1)
	_, err := c.tapped(crusterv1.WorkflowService_GetExecution_FullMethodName)
	require.NoError(t, err)
	refused := c.data(1, prefixOf(envelope+1))
	require.Equal(t, uint32(rpcerror.TooLargeLength), binary.BigEndian.Uint32(refused[1:]))
	c.data(1, make([]byte, 1000))
	require.EqualValues(t, callCost, c.budget.Used())
	st := status.Newf(
		codes.ResourceExhausted, "grpc: received message larger than max (%d vs. %d)", uint32(rpcerror.TooLargeLength),
		maxRequest,
	)
	require.Equal(t, abi.CodePayloadTooLarge, abi.CodeOf(rpcerror.From(st.Err())))
}

// TestUploadsThatWaitKeepTheirConnection: an upload may wait for its place for longer than a message may take. Its
// handler limits the time, and ends the call alone.
func TestUploadsThatWaitKeepTheirConnection(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCounted(t, 1<<20)
		c.open(1)
		_, err := c.tapped(crusterv1.DeploymentService_PushModule_FullMethodName)
		require.NoError(t, err)
		c.data(1, append(prefixOf(100_000), 1))
		time.Sleep(2 * messageTimeout)
		synctest.Wait()
		require.NotZero(t, c.budget.Used())
		c.data(1, make([]byte, 1000))
	})
}

// TestFramesInPieces: however a connection is cut into pieces, the same frames and data are found.
func TestFramesInPieces(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var sent writer
		framer := http2.NewFramer(&sent, nil)
		want := ""
		for range rapid.IntRange(1, 10).Draw(t, "frames") {
			stream := 2*rapid.Uint32Range(0, 3).Draw(t, "stream") + 1
			body := rapid.SliceOfN(rapid.Byte(), 0, 20).Draw(t, "body")
			switch rapid.IntRange(0, 3).Draw(t, "kind") {
			case 0:
				require.NoError(t, framer.WriteData(stream, false, body))
				want += string(body)
			case 1:
				require.NoError(
					t,
					framer.WriteDataPadded(stream, false, body, make([]byte, rapid.IntRange(0, 9).Draw(t, "padding"))),
				)
				want += string(body)
			case 2:
				require.NoError(
					t,
					framer.WriteHeaders(http2.HeadersFrameParam{
						StreamID: stream, BlockFragment: body, EndHeaders: true,
					}),
				)
				want += "h"
			default:
				require.NoError(t, framer.WriteRSTStream(stream, http2.ErrCodeCancel))
				want += "r"
			}
		}
		got, f := "", frames{byCall: true}
		for rest := []byte(sent); len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "piece")
			headers := 0
			scanned, err := f.scan(rest[:n], func(f frame) {
				got += map[byte]string{frameHeaders: "h", frameReset: "r"}[f.kind]
				if f.kind == frameHeaders {
					headers++
				}
			}, func(_ uint32, piece []byte) error {
				got += string(piece)
				return nil
			})
			require.NoError(t, err)
			require.LessOrEqual(t, headers, 1)
			rest = rest[scanned:]
		}
		require.Equal(t, want, got)
	})
}

// writer keeps the written bytes.
type writer []byte

func (w *writer) Write(p []byte) (int, error) {
	*w = append(*w, p...)
	return len(p), nil
}
