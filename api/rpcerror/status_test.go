package rpcerror_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/api/rpcerror"
)

func TestEveryCodeSurvivesTheWire(t *testing.T) {
	t.Parallel()

	for _, info := range abi.Codes {
		want := abi.Errorf(info.Code, "what happened to what")
		want.Type, want.Details = "kind", []byte{1}
		st := rpcerror.Status(want, 0)
		require.NotEqual(t, codes.OK, st.Code(), info.Code)
		require.Equal(t, want, rpcerror.From(st.Err()), info.Code)
		_, retry := rpcerror.RetryDelay(st.Err())
		require.False(t, retry)
	}
}

func TestRetryDelaySurvivesTheWire(t *testing.T) {
	t.Parallel()

	delay, ok := rpcerror.RetryDelay(rpcerror.Status(abi.Errorf(abi.CodeOverloaded, "full"), time.Second).Err())
	require.True(t, ok)
	require.Equal(t, time.Second, delay)
	_, ok = rpcerror.RetryDelay(errors.New("other"))
	require.False(t, ok)
}

func TestFromKnowsWhatGRPCSaysItself(t *testing.T) {
	t.Parallel()

	require.NoError(t, rpcerror.From(nil))
	for want, err := range map[abi.Code]error{
		abi.CodeUnreachable: status.Error(
			codes.Unavailable, `connection error: desc = "transport: Error while dialing: dial tcp: refused"`,
		),
		abi.CodeDeadline:        status.Error(codes.DeadlineExceeded, "late"),
		abi.CodePayloadTooLarge: status.Error(codes.ResourceExhausted, "grpc: received message larger than max"),
		abi.CodeInternal:        status.Error(codes.Unimplemented, "unknown method"),
		abi.CodeBadRequest:      status.Error(codes.InvalidArgument, "bad"),
		abi.CodeNotWasm:         fmt.Errorf("wrapped: %w", abi.Errorf(abi.CodeNotWasm, "no")),
	} {
		require.Equal(t, want, abi.CodeOf(rpcerror.From(err)), "%v", err)
	}
	require.Equal(t, abi.CodeDeadline, abi.CodeOf(rpcerror.From(context.DeadlineExceeded)))
	require.ErrorIs(t, rpcerror.From(status.Error(codes.Canceled, "")), context.Canceled)
	require.ErrorIs(t, rpcerror.From(context.Canceled), context.Canceled)
	require.ErrorContains(
		t, rpcerror.From(status.Error(codes.Unavailable, `desc = "transport: Error while dialing: dial tcp: refused"`)),
		"no host answers: dial tcp: refused",
	)
}

func TestClippedFitsIntoATrailer(t *testing.T) {
	t.Parallel()

	e := abi.Errorf(abi.CodeGuestTrap, "%s", strings.Repeat("ä", 1<<20))
	e.Hint, e.Type, e.Details = e.Message, e.Message, make([]byte, 1<<20)
	wire := rpcerror.Clipped(e)
	require.Less(t, len(wire.GetMessage())+len(wire.GetHint())+len(wire.GetType())+len(wire.GetDetails()), 16<<10)
	require.Nil(t, rpcerror.Clipped(nil))
}
