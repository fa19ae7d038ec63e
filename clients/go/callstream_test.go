package client

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
)

// TestStreamsAreNotKept if they are idle or old: later calls find another one, calls in flight keep
// theirs.
func TestStreamsAreNotKept(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		age        time.Duration
		calledLast bool // since the last look
		waits      bool
		stuck      bool // nothing was sent since
		kept       bool
	}{
		"Used":       {calledLast: true, kept: true},
		"Awaited":    {waits: true, kept: true},
		"Idle":       {},
		"Stuck":      {waits: true, stuck: true},
		"Old":        {age: maxStreamAge, calledLast: true},
		"OldAwaited": {age: maxStreamAge, waits: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := &shared{}
			s := newCallStream(all, nil)
			all.stream = s
			require.True(
				t,
				s.add(
					&crusterv1.StreamedCall{}, &awaited{
						reply: &crusterv1.CallEntityResponse{}, done: make(chan error, 1),
					},
				),
			)
			s.begun = s.begun.Add(-tc.age)
			s.sent = s.last
			if !tc.stuck {
				s.queue = nil
			}
			if !tc.calledLast {
				s.lookedAt = progress{s.last, s.sent}
			}
			answer := []*crusterv1.StreamedAnswer{{Id: s.last, Response: &crusterv1.CallEntityResponse{}}}
			if !tc.waits {
				s.hand(answer)
			}
			require.Equal(t, !tc.kept, s.look())
			require.Equal(t, tc.kept, s.add(&crusterv1.StreamedCall{}, &awaited{done: make(chan error, 1)}))
			if tc.waits && !tc.kept {
				require.False(t, s.isDone())
				s.hand(answer)
				require.Len(t, s.wake, 1, "the stream is told that it can end")
			}
			require.Equal(t, !tc.kept, s.isDone())
		})
	}
}

// TestCallsThatWereNotTakenWaitForAConnection: a host that stops takes no more calls and is away soon
// after. They were not sent, and must not look as if they were.
func TestCallsThatWereNotTakenWaitForAConnection(t *testing.T) {
	t.Parallel()
	listener, server := bufconn.Listen(1<<10), grpc.NewServer()
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	var tries atomic.Int32
	cc, err := grpc.NewClient("passthrough:///test", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			if tries.Add(1) < 2 {
				return nil, errors.New("away")
			}
			return listener.DialContext(ctx)
		}))
	require.NoError(t, err)
	all := &shared{underWay: 1}
	all.stream = newCallStream(all, cc)
	all.stream.closed = true
	var at connectivity.State
	invoke := func(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error {
		at = cc.GetState()
		return nil
	}
	ctx := withBudget(t.Context(), &budget{spare: time.Hour})
	require.NoError(t, all.unary(ctx, "", &crusterv1.CallEntityRequest{}, &crusterv1.CallEntityResponse{}, cc, invoke))
	require.Equal(t, connectivity.Ready, at)
	require.NoError(t, cc.Close())
	server.Stop()
	require.NoError(t, <-served)
}

// TestStreamsRestAfterThree that brought nothing, and are tried again later. A stream that no call was
// sent on says nothing.
func TestStreamsRestAfterThree(t *testing.T) {
	t.Parallel()
	all := &shared{}
	gone := errors.New("gone")
	for i := range 3 {
		require.True(t, all.rests.IsZero(), i)
		newCallStream(all, nil).end(gone, nil) // not sent
		all.learn(false, gone)
	}
	require.Greater(t, time.Until(all.rests), streamsRest/2)
	all.underWay = 1
	require.Nil(t, all.enter(nil))
}
