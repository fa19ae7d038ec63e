package grpcserver_test

import (
	"context"
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/host"
	"github.com/cruster/cruster/host/follow"
	"github.com/cruster/cruster/journal"
)

func TestFollow(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var asked host.FollowRequest
	b.engine.follow = func(
		_ context.Context, namespace, execution string, req host.FollowRequest, tell func(host.FollowEvent) error,
	) error {
		asked = req
		require.Equal(t, "acme shop/Buy/k", namespace+" "+execution)
		e := open("k", journal.Running, "old")
		return errors.Join(
			tell(host.FollowEvent{Execution: &e}),
			tell(host.FollowEvent{Entry: &journal.Entry{Seq: 8, Kind: journal.Delivery}}),
			tell(host.FollowEvent{
				Line: &follow.Line{
					Activity: "pay", Attempt: 2, Dropped: 3, Level: 4, Message: "slow \xff", Crashed: true,
				},
			}))
	}
	run := journal.RunID{1}
	stream, err := b.workflows.FollowExecution(t.Context(), &crusterv1.FollowExecutionRequest{
		Namespace: "acme", Execution: "shop/Buy/k", After: 7, RunId: run.String(),
	})
	require.NoError(t, err)
	var got []*crusterv1.FollowExecutionResponse
	for {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		got = append(got, m)
	}
	require.Equal(t, host.FollowRequest{After: 7, Run: run}, asked)
	require.Len(t, got, 3)
	require.Equal(t, crusterv1.State_STATE_RUNNING, got[0].GetExecution().GetState())
	require.EqualValues(t, 8, got[1].GetEntry().GetSeq())
	line := got[2].GetLine()
	require.Equal(t, "slow \uFFFD", line.GetMessage())
	require.Equal(
		t, []any{"pay", uint32(2), uint32(3), int32(4), true},
		[]any{line.GetActivity(), line.GetAttempt(), line.GetDropped(), line.GetLevel(), line.GetCrashed()},
	)
}

func TestFollowRefusesWhatIsNoRun(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, id := range []string{"00", "zz", journal.RunID{1}.String() + "00"} {
		stream, err := b.workflows.FollowExecution(
			t.Context(), &crusterv1.FollowExecutionRequest{Execution: "shop/Buy/k", RunId: id},
		)
		require.NoError(t, err)
		_, err = stream.Recv()
		require.Equal(t, codes.InvalidArgument, status.Code(err), id)
	}
}

func TestFollowEndsWithTheServer(t *testing.T) {
	t.Parallel()
	b := setup(t)
	begun := make(chan struct{})
	b.engine.follow = func(
		ctx context.Context, _, _ string, _ host.FollowRequest, _ func(host.FollowEvent) error,
	) error {
		close(begun)
		<-ctx.Done()
		return ctx.Err()
	}
	stream, err := b.workflows.FollowExecution(t.Context(), &crusterv1.FollowExecutionRequest{Execution: "shop/Buy/k"})
	require.NoError(t, err)
	<-begun
	b.server.Shutdown(t.Context())
	_, err = stream.Recv()
	require.Equal(t, codes.Unavailable, status.Code(err), err)
}
