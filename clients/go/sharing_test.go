package client_test

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/cruster/cruster/abi"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/api/rpcerror"
	client "github.com/cruster/cruster/clients/go"
)

// company is a host that keeps one call waiting, an RPC of its own, so that calls beside it share a
// stream.
type company struct {
	*testBundle
	t        *testing.T
	mu       sync.Mutex
	alone    []*crusterv1.Operation // guarded by mu; operations received as single RPCs
	streamed []*crusterv1.Operation // guarded by mu; operations received over streams
	leave    chan struct{}          // closed when the waiting call is to end
	left     sync.WaitGroup
}

func withCompany(t *testing.T) *company {
	t.Helper()
	return keepCompany(t, client.WithSharing(true))
}

func keepCompany(t *testing.T, opt client.Option) *company {
	t.Helper()
	c := &company{testBundle: setup(t, opt), t: t, leave: make(chan struct{})}
	waits := make(chan struct{})
	c.entities.call = func(_ context.Context, req *crusterv1.CallEntityRequest) (*crusterv1.CallEntityResponse, error) {
		if req.GetOperation().GetName() == "wait" {
			close(waits)
			<-c.leave
		} else {
			c.mu.Lock()
			c.alone = append(c.alone, req.GetOperation())
			c.mu.Unlock()
		}
		return &crusterv1.CallEntityResponse{Result: req.GetOperation().GetInput()}, nil
	}
	c.left.Go(func() {
		_, _ = client.Operation[int64, int64](c.client, "bank/Account", "wait").On("eve").Call(t.Context(), 0)
	})
	<-waits
	t.Cleanup(func() {
		close(c.leave)
		c.left.Wait()
	})
	return c
}

func (c *company) call(ctx context.Context, in int64) (int64, error) {
	return client.Operation[int64, int64](c.client, "bank/Account", "deposit").On("ada").Call(ctx, in)
}

// receive is the next message of a stream.
func (c *company) receive(stream callsStream) (*crusterv1.StreamCallsRequest, error) {
	req, err := stream.Recv()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, call := range req.GetCalls() {
		c.streamed = append(c.streamed, call.GetRequest().GetOperation())
	}
	return req, err
}

// echo answers each call of a stream with its input.
func (c *company) echo(stream callsStream) error {
	for {
		req, err := c.receive(stream)
		if err != nil {
			return nil
		}
		resp := &crusterv1.StreamCallsResponse{}
		for _, call := range req.GetCalls() {
			resp.Answers = append([]*crusterv1.StreamedAnswer{answered(call)}, resp.Answers...)
		}
		if err := stream.Send(resp); err != nil {
			return err
		}
	}
}

func answered(call *crusterv1.StreamedCall) *crusterv1.StreamedAnswer {
	return &crusterv1.StreamedAnswer{
		Id: call.GetId(), Response: &crusterv1.CallEntityResponse{Result: call.GetRequest().GetOperation().GetInput()},
	}
}

func refused(call *crusterv1.StreamedCall, st *status.Status) *crusterv1.StreamedAnswer {
	text, err := proto.Marshal(st.Proto())
	if err != nil {
		panic(err)
	}
	return &crusterv1.StreamedAnswer{Id: call.GetId(), Status: text}
}

// TestCallsUnderWayTogetherShareAStream, and each gets its own answer; one alone, a large one and one with metadata are
// RPCs of their own.
func TestCallsUnderWayTogetherShareAStream(t *testing.T) {
	t.Parallel()
	c := withCompany(t)
	c.entities.calls = c.echo
	var callers sync.WaitGroup
	for i := range int64(50) {
		callers.Go(func() {
			got, err := c.call(t.Context(), i)
			if err != nil || got != i {
				t.Errorf("call %d: %d, %v", i, got, err)
			}
		})
	}
	callers.Wait()
	require.Len(t, c.streamed, 50)
	require.Empty(t, c.alone)

	_, err := c.call(metadata.AppendToOutgoingContext(t.Context(), "trace", "1"), 1)
	require.NoError(t, err)
	var header metadata.MD
	_, err = c.client.Entities().CallEntity(
		t.Context(), &crusterv1.CallEntityRequest{Operation: &crusterv1.Operation{}}, grpc.Header(&header),
	)
	require.NoError(t, err)
	_, err = client.Operation[string, string](c.client, "bank/Account", "note").On("ada").Call(
		t.Context(), strings.Repeat("x", 1<<20),
	)
	require.NoError(t, err)
	require.Len(t, c.streamed, 50)
	require.Len(t, c.alone, 3)
}

// TestStreamedErrorsAreThoseOfCalls, and a full host is asked again.
func TestStreamedErrorsAreThoseOfCalls(t *testing.T) {
	t.Parallel()
	c := withCompany(t)
	statuses := []*status.Status{
		rpcerror.Status(abi.Errorf(abi.CodeOverloaded, "full"), time.Millisecond),
		rpcerror.Status(abi.Errorf(abi.CodeUnknownOperation, "no such operation"), 0),
		status.New(codes.OK, "none"),
	}
	c.entities.calls = func(stream callsStream) error {
		for _, st := range statuses {
			req, err := c.receive(stream)
			if err != nil {
				return err
			}
			if err := stream.Send(&crusterv1.StreamCallsResponse{
				Answers: []*crusterv1.StreamedAnswer{refused(req.GetCalls()[0], st)},
			}); err != nil {
				return err
			}
		}
		return c.echo(stream)
	}
	_, err := c.call(t.Context(), 1)
	require.Equal(t, abi.CodeUnknownOperation, abi.CodeOf(err))
	require.Len(t, c.streamed, 2)
	require.False(t, c.streamed[1].GetAgain(), "the host has not taken it")
	_, err = c.call(t.Context(), 1)
	require.Equal(t, abi.CodeInternal, abi.CodeOf(err), "an answer that is none")
	got, err := c.call(t.Context(), 7)
	require.NoError(t, err)
	require.EqualValues(t, 7, got)
}

// TestLostStreamedCallsAreMarked: a call that may have arrived is repeated as such.
func TestLostStreamedCallsAreMarked(t *testing.T) {
	t.Parallel()
	c := withCompany(t)
	lost := false
	c.entities.calls = func(stream callsStream) error {
		if lost {
			return c.echo(stream)
		}
		lost = true
		_, _ = c.receive(stream)
		return status.Error(codes.Internal, "gone")
	}
	got, err := c.call(t.Context(), 7)
	require.NoError(t, err)
	require.EqualValues(t, 7, got)
	require.Len(t, c.streamed, 2)
	require.False(t, c.streamed[0].GetAgain())
	require.True(t, c.streamed[1].GetAgain())
	require.Equal(t, c.streamed[0].GetRequestId(), c.streamed[1].GetRequestId())
}

// TestCallsThatAStreamDidNotTakeAreNotMarked: a host that stops says which it took, and a host that
// knows no such streams took none.
func TestCallsThatAStreamDidNotTakeAreNotMarked(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(c *company, stream callsStream) error{
		"Drained": func(c *company, stream callsStream) error {
			if _, err := c.receive(stream); err != nil {
				return err
			}
			return stream.Send(&crusterv1.StreamCallsResponse{LastTaken: proto.Uint64(0)})
		},
		"Unknown": func(_ *company, stream callsStream) error {
			return crusterv1.UnimplementedEntityServiceServer{}.StreamCalls(stream)
		},
		"Forbidden": func(*company, callsStream) error {
			return status.Error(codes.PermissionDenied, "not this method")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := withCompany(t)
			c.entities.calls = func(stream callsStream) error { return end(c, stream) }
			for i := range int64(3) {
				got, err := c.call(t.Context(), i)
				require.NoError(t, err)
				require.Equal(t, i, got)
			}
			require.Len(t, c.alone, 3)
			for _, operation := range c.alone {
				require.False(t, operation.GetAgain())
			}
		})
	}
}

// TestStreamsThatNothingComesThrough are given up for RPCs.
func TestStreamsThatNothingComesThrough(t *testing.T) {
	t.Parallel()
	c := withCompany(t)
	opened := 0
	c.entities.calls = func(stream callsStream) error {
		opened++
		_, _ = c.receive(stream)
		return status.Error(codes.Unknown, "what is this")
	}
	for range 2 {
		_, err := c.call(t.Context(), 1)
		require.NoError(t, err)
	}
	require.Equal(t, 3, opened)
	require.Len(t, c.alone, 2)
	require.True(t, c.alone[0].GetAgain(), "it may have arrived")
	require.False(t, c.alone[1].GetAgain())
}

// TestStreamsThatEndWithARefusal after they were heard of say nothing about the calls on them.
func TestStreamsThatEndWithARefusal(t *testing.T) {
	t.Parallel()
	for _, code := range []codes.Code{
		codes.Unauthenticated, codes.PermissionDenied, codes.Unimplemented, codes.InvalidArgument, codes.Canceled,
	} {
		t.Run(code.String(), func(t *testing.T) {
			t.Parallel()
			c := withCompany(t)
			ended := false
			c.entities.calls = func(stream callsStream) error {
				if ended {
					return c.echo(stream)
				}
				ended = true
				if err := stream.Send(&crusterv1.StreamCallsResponse{}); err != nil {
					return err
				}
				_, _ = c.receive(stream)
				return status.Error(code, "the token ran out")
			}
			_, err := c.call(t.Context(), 1)
			require.NoError(t, err)
			require.Len(t, c.streamed, 2)
			require.True(t, c.streamed[1].GetAgain(), "it may have arrived")
		})
	}
}

// TestCallsThatDoNotEncodeAreNoMatterOfOthers: they fail as an RPC would, and the stream goes on.
func TestCallsThatDoNotEncodeAreNoMatterOfOthers(t *testing.T) {
	t.Parallel()
	c := withCompany(t)
	opened := 0
	c.entities.calls = func(stream callsStream) error {
		opened++
		return c.echo(stream)
	}
	for range 3 {
		_, err := client.Operation[int64, int64](c.client, "bank/Account", "deposit").On("caf\xe9").Call(t.Context(), 1)
		require.ErrorContains(t, err, "UTF-8")
		_, err = c.call(t.Context(), 1)
		require.NoError(t, err)
	}
	require.Equal(t, 1, opened)
	require.Len(t, c.streamed, 3)
	require.Empty(t, c.alone)
}

// TestRequestsAreTheirCallersAgain once a call has ended, also if it was given up before it was
// sent.
func TestRequestsAreTheirCallersAgain(t *testing.T) {
	t.Parallel()
	c := withCompany(t)
	c.entities.calls = c.echo
	req := &crusterv1.CallEntityRequest{Operation: &crusterv1.Operation{Entity: "bank/Account/ada", Name: "deposit"}}
	for i := range 200 {
		ctx, cancel := context.WithCancel(t.Context())
		var given sync.WaitGroup
		given.Go(cancel)
		_, _ = c.client.Entities().CallEntity(ctx, req)
		req.Operation.RequestId = strconv.Itoa(i) // a race, if the stream looks at it
		given.Wait()
	}
}

// TestSharing is on, unless it is not wanted or options of gRPC's own are used.
func TestSharing(t *testing.T) {
	t.Parallel()
	for name, opt := range map[string]client.Option{
		"NotWanted": client.WithSharing(false),
		"NotSaid":   client.WithDialOptions(),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := keepCompany(t, opt) // whose dialer is an option of gRPC's own
			c.entities.calls = c.echo
			_, err := c.call(t.Context(), 1)
			require.NoError(t, err)
			require.Empty(t, c.streamed)
			require.Len(t, c.alone, 1)
		})
	}
}

// TestStreamedCallsAreGivenUp when their caller does, and the host is told.
func TestStreamedCallsAreGivenUp(t *testing.T) {
	t.Parallel()
	c := withCompany(t)
	ctx, cancel := context.WithCancel(t.Context())
	told := make(chan []uint64, 1)
	c.entities.calls = func(stream callsStream) error {
		req, err := c.receive(stream)
		if err != nil {
			return err
		}
		id := req.GetCalls()[0].GetId()
		cancel()
		for len(req.GetGivenUp()) == 0 {
			if req, err = c.receive(stream); err != nil {
				return err
			}
		}
		if req.GetGivenUp()[0] == id {
			told <- req.GetGivenUp()
		}
		// An answer that comes too late is for no caller.
		if err := stream.Send(&crusterv1.StreamCallsResponse{
			Answers: []*crusterv1.StreamedAnswer{{Id: id, Response: &crusterv1.CallEntityResponse{}}},
		}); err != nil {
			return err
		}
		return c.echo(stream)
	}
	_, err := c.call(ctx, 1)
	require.ErrorIs(t, err, context.Canceled)
	require.Len(t, <-told, 1)
	got, err := c.call(t.Context(), 7)
	require.NoError(t, err)
	require.EqualValues(t, 7, got)
}

// TestStreamedCallsCarryTheirTime.
func TestStreamedCallsCarryTheirTime(t *testing.T) {
	t.Parallel()
	c := withCompany(t)
	timeouts := make(chan time.Duration, 2)
	c.entities.calls = func(stream callsStream) error {
		for {
			req, err := c.receive(stream)
			if err != nil {
				return nil
			}
			call := req.GetCalls()[0]
			timeouts <- call.GetTimeout().AsDuration()
			if err := stream.Send(&crusterv1.StreamCallsResponse{
				Answers: []*crusterv1.StreamedAnswer{answered(call)},
			}); err != nil {
				return err
			}
		}
	}
	_, err := c.call(t.Context(), 1)
	require.NoError(t, err)
	require.Zero(t, <-timeouts)
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	_, err = c.call(ctx, 1)
	require.NoError(t, err)
	got := <-timeouts
	require.Greater(t, got, 30*time.Minute)
	require.LessOrEqual(t, got, time.Hour)
}
