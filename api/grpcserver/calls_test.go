package grpcserver_test

import (
	"context"
	"io"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/cruster/cruster/abi"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/api/payload"
	"github.com/cruster/cruster/api/rpcerror"
	"github.com/cruster/cruster/host"
)

// callsClient is a client's side of a stream of calls.
type callsClient struct {
	grpc.BidiStreamingClient[crusterv1.StreamCallsRequest, crusterv1.StreamCallsResponse]
	t *testing.T
}

func openCalls(ctx context.Context, t *testing.T, b *testBundle) *callsClient {
	t.Helper()
	stream, err := crusterv1.NewEntityServiceClient(b.conn).StreamCalls(ctx)
	require.NoError(t, err)
	return &callsClient{stream, t}
}

// call is a call of an operation whose name is its id, on a stream.
func call(id uint64) *crusterv1.StreamedCall {
	return &crusterv1.StreamedCall{Id: id, Request: &crusterv1.CallEntityRequest{
		Operation: &crusterv1.Operation{
			Entity: "bank/Account/ada", Name: strconv.FormatUint(id, 10), Input: jsonPayload("5"),
		},
	}}
}

func (c *callsClient) send(calls ...*crusterv1.StreamedCall) {
	c.t.Helper()
	require.NoError(c.t, c.Send(&crusterv1.StreamCallsRequest{Calls: calls}))
}

// answers receives that many, by id.
func (c *callsClient) answers(n int) map[uint64]*crusterv1.StreamedAnswer {
	c.t.Helper()
	got := map[uint64]*crusterv1.StreamedAnswer{}
	for len(got) < n {
		resp, err := c.Recv()
		require.NoError(c.t, err)
		for _, a := range resp.GetAnswers() {
			require.NotContains(c.t, got, a.GetId(), "it is answered once")
			got[a.GetId()] = a
		}
	}
	return got
}

// failure receives the error that the stream ends with.
func (c *callsClient) failure() error {
	for {
		if _, err := c.Recv(); err != nil {
			return err
		}
	}
}

// errorOf is the error of an answer that has no outcome.
func errorOf(t *testing.T, a *crusterv1.StreamedAnswer) error {
	t.Helper()
	require.Nil(t, a.GetResponse())
	var st spb.Status
	require.NoError(t, proto.Unmarshal(a.GetStatus(), &st))
	return rpcerror.From(status.FromProto(&st).Err())
}

// TestStreamedCallsAreCalls performs, guards, counts and answers each by itself, in any order.
func TestStreamedCallsAreCalls(t *testing.T) {
	t.Parallel()
	b := setup(t)
	second := make(chan struct{})
	b.engine.entities.call = func(_ context.Context, req host.EntityRequest) (abi.Outcome, error) {
		switch req.Operation {
		case "1":
			<-second
			return abi.Outcome{Value: []byte{9}}, nil
		case "2":
			defer close(second)
			return abi.Outcome{Error: abi.Errorf(abi.CodeOperationFailed, "no")}, nil
		case "3":
			panic("oh")
		default:
			return abi.Outcome{}, abi.Errorf(abi.CodeMailboxFull, "full")
		}
	}
	stream := openCalls(t.Context(), t, b)
	bad := call(5)
	bad.Request.Operation.Input = jsonPayload("{")
	stream.send(call(1), call(2), call(3), call(4), bad)
	got := stream.answers(5)
	require.Equal(t, "9", got[1].GetResponse().GetResult().GetJson())
	require.Equal(t, string(abi.CodeOperationFailed), got[2].GetResponse().GetError().GetCode())
	require.Equal(t, abi.CodeInternal, abi.CodeOf(errorOf(t, got[3])))
	require.Equal(t, abi.CodeMailboxFull, abi.CodeOf(errorOf(t, got[4])))
	require.Equal(t, abi.CodeOperationInput, abi.CodeOf(errorOf(t, got[5])))
	metrics := b.metrics()
	require.Contains(t, metrics, "cruster_grpc_panics_total 1\n")
	for code, n := range map[string]string{
		"Internal": "1", "InvalidArgument": "1", "OK": "2", "ResourceExhausted": "1",
	} {
		require.Contains(
			t, metrics,
			`cruster_grpc_requests_total{code="`+code+`",method="cruster.v1.EntityService/CallEntity"} `+n+"\n",
		)
	}

	require.NoError(t, stream.CloseSend())
	_, err := stream.Recv()
	require.ErrorIs(t, err, io.EOF)
}

// TestStreamedCallsEndWithTheirCallers, each by itself: an abandoned call is not answered, the next
// one is.
func TestStreamedCallsEndWithTheirCallers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ended := make(chan string, 3)
	b.engine.entities.call = func(ctx context.Context, req host.EntityRequest) (abi.Outcome, error) {
		if req.Operation != "2" {
			<-ctx.Done()
			ended <- req.Operation
		}
		return abi.Outcome{Value: []byte{9}}, ctx.Err()
	}
	ctx, cancel := context.WithCancel(t.Context())
	stream := openCalls(ctx, t, b)
	stream.send(call(1))
	require.NoError(t, stream.Send(&crusterv1.StreamCallsRequest{GivenUp: []uint64{1, 7}}))
	require.Equal(t, "1", <-ended)
	stream.send(call(2), call(3))
	require.Contains(t, stream.answers(1), uint64(2))
	cancel() // the client is gone
	require.Equal(t, "3", <-ended)
	require.Equal(t, codes.Canceled, status.Code(stream.failure()))
}

// TestLateCallersLearnWhetherTheirCallWasAccepted: the host is done a little before the caller is.
func TestLateCallersLearnWhetherTheirCallWasAccepted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t)
		var until time.Time
		note := func(ctx context.Context) { until, _ = ctx.Deadline() }
		b.engine.entities.send = note
		b.engine.entities.call = func(ctx context.Context, _ host.EntityRequest) (abi.Outcome, error) {
			note(ctx)
			return abi.Outcome{}, abi.Errorf(abi.CodeDeadline, "it was accepted")
		}
		entities := crusterv1.NewEntityServiceClient(b.conn)
		check := func(deadline time.Time, err error) {
			t.Helper()
			require.ErrorContains(t, err, "it was accepted")
			require.Less(t, until, deadline.Add(-50*time.Millisecond))
			require.Greater(t, until, deadline.Add(-30*time.Minute))
		}
		deadline := time.Now().Add(time.Hour)
		ctx, cancel := context.WithDeadline(t.Context(), deadline)
		defer cancel()
		_, err := entities.CallEntity(ctx, &crusterv1.CallEntityRequest{
			Operation: &crusterv1.Operation{Entity: "bank/Account/ada", Name: "add"},
		})
		check(deadline, err)
		stream := openCalls(t.Context(), t, b)
		late := call(1)
		late.Timeout = durationpb.New(time.Hour)
		stream.send(late)
		check(time.Now().Add(time.Hour), errorOf(t, stream.answers(1)[1]))
		_, err = entities.SendToEntity(ctx, &crusterv1.SendToEntityRequest{
			Operation: &crusterv1.Operation{Entity: "bank/Account/ada", Name: "add"},
		})
		require.NoError(t, err)
		require.Less(t, until, deadline.Add(-50*time.Millisecond))
	})
}

// TestShutdownEndsStreamsOfCalls: waiting calls are answered, and the client is told which calls
// were taken.
func TestShutdownEndsStreamsOfCalls(t *testing.T) {
	t.Parallel()
	b := setup(t)
	begun := make(chan struct{})
	b.engine.entities.call = func(ctx context.Context, _ host.EntityRequest) (abi.Outcome, error) {
		close(begun)
		<-ctx.Done()
		return abi.Outcome{}, abi.Errorf(abi.CodeDeadline, "it was accepted")
	}
	stream, idle := openCalls(t.Context(), t, b), openCalls(t.Context(), t, b)
	require.NoError(t, idle.Send(&crusterv1.StreamCallsRequest{}))
	stream.send(call(7))
	<-begun
	var stopped sync.WaitGroup
	stopped.Go(func() { b.server.Shutdown(context.Background()) })
	require.Equal(t, abi.CodeShuttingDown, abi.CodeOf(errorOf(t, stream.answers(1)[7])))
	for s, last := range map[*callsClient]uint64{stream: 7, idle: 0} {
		resp, err := s.Recv()
		require.NoError(t, err)
		require.NotNil(t, resp.LastTaken)
		require.Equal(t, last, resp.GetLastTaken())
		_, err = s.Recv()
		require.ErrorIs(t, err, io.EOF)
	}
	stopped.Wait()
}

// TestStreamsOfCallsAreBounded refuses clients that do not keep to the contract.
func TestStreamsOfCallsAreBounded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.engine.entities.call = func(ctx context.Context, req host.EntityRequest) (abi.Outcome, error) {
		if strings.HasSuffix(req.Entity, "/waits") {
			<-ctx.Done()
		}
		return abi.Outcome{Value: []byte{9}}, nil
	}
	many := func(n int, from uint64, entity string) *crusterv1.StreamCallsRequest {
		req := &crusterv1.StreamCallsRequest{}
		for i := range n {
			c := call(from + uint64(i))
			c.Request.Operation.Entity = entity
			req.Calls = append(req.Calls, c)
		}
		return req
	}
	large := call(1)
	large.Request.Operation.Name = strings.Repeat("x", payload.MaxJSON+1<<20)
	for name, tc := range map[string]struct {
		requests []*crusterv1.StreamCallsRequest
		want     abi.Code
	}{
		"IDsAscend": {
			[]*crusterv1.StreamCallsRequest{{Calls: []*crusterv1.StreamedCall{call(2), call(2)}}}, abi.CodeBadRequest,
		},
		"NoID":    {[]*crusterv1.StreamCallsRequest{{Calls: []*crusterv1.StreamedCall{call(0)}}}, abi.CodeBadRequest},
		"TooMany": {[]*crusterv1.StreamCallsRequest{many(1001, 1, "bank/Account/ada")}, abi.CodeBadRequest},
		"TooLarge": {
			[]*crusterv1.StreamCallsRequest{{Calls: []*crusterv1.StreamedCall{large}}}, abi.CodePayloadTooLarge,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stream := openCalls(t.Context(), t, b)
			for _, req := range tc.requests {
				if err := stream.Send(req); err != nil {
					require.ErrorIs(t, err, io.EOF, "the stream was ended")
				}
			}
			require.Equal(t, tc.want, abi.CodeOf(rpcerror.From(stream.failure())))
		})
	}
}

// TestStreamedCallsBeyondTheLimitAreRefused, each by itself and with a delay: calls in flight go
// on.
func TestStreamedCallsBeyondTheLimitAreRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	leave := make(chan struct{})
	b.engine.entities.call = func(context.Context, host.EntityRequest) (abi.Outcome, error) {
		<-leave
		return abi.Outcome{Value: []byte{9}}, nil
	}
	const limit = 2500
	stream := openCalls(t.Context(), t, b)
	for id := uint64(1); id <= limit+2; id++ {
		stream.send(call(id))
	}
	for id, refused := range stream.answers(2) {
		require.Greater(t, id, uint64(limit))
		var st spb.Status
		require.NoError(t, proto.Unmarshal(refused.GetStatus(), &st))
		err := status.FromProto(&st).Err()
		require.Equal(t, abi.CodeOverloaded, abi.CodeOf(rpcerror.From(err)))
		_, ok := rpcerror.RetryDelay(err)
		require.True(t, ok, "a client makes it again")
	}
	close(leave)
	require.Len(t, stream.answers(limit), limit)
	stream.send(call(limit + 3))
	require.Contains(t, stream.answers(1), uint64(limit+3))
}

// TestAnswersThatAreNotReadHoldUpTheStream, and nothing else: it goes on when they are.
func TestAnswersThatAreNotReadHoldUpTheStream(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.engine.entities.call = func(context.Context, host.EntityRequest) (abi.Outcome, error) {
		return abi.Outcome{Value: abi.MustMarshal(strings.Repeat("x", 100<<10))}, nil
	}
	stream := openCalls(t.Context(), t, b)
	for id := uint64(1); id <= 60; id++ {
		stream.send(call(id))
	}
	require.Len(t, stream.answers(60), 60)
}

// TestConnectionsHaveFewStreamsOfCalls.
func TestConnectionsHaveFewStreamsOfCalls(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.engine.entities.call = func(context.Context, host.EntityRequest) (abi.Outcome, error) {
		return abi.Outcome{Value: []byte{9}}, nil
	}
	var streams []*callsClient
	for range 4 {
		stream := openCalls(t.Context(), t, b)
		stream.send(call(1))
		stream.answers(1)
		streams = append(streams, stream)
	}
	refused := openCalls(t.Context(), t, b)
	err := refused.failure()
	require.Equal(t, abi.CodeOverloaded, abi.CodeOf(rpcerror.From(err)))
	require.NoError(t, streams[0].CloseSend())
	require.ErrorIs(t, streams[0].failure(), io.EOF)
	stream := openCalls(t.Context(), t, b)
	stream.send(call(1))
	stream.answers(1)
}
