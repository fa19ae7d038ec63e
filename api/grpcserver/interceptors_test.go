package grpcserver

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/cruster/cruster/abi"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
)

func TestRequestIDs(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		given []string
		taken bool
	}{
		"Given":       {[]string{"mine-1"}, true},
		"None":        {nil, false},
		"Empty":       {[]string{""}, false},
		"Longest":     {[]string{strings.Repeat("x", maxRequestID)}, true},
		"TooLong":     {[]string{strings.Repeat("x", maxRequestID+1)}, false},
		"LineBreak":   {[]string{"a\nlevel=ERROR"}, false},
		"NotASCII":    {[]string{"ä"}, false},
		"SecondIsFit": {[]string{"", "mine-2"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := metadata.NewIncomingContext(t.Context(), metadata.MD{RequestIDHeader: tc.given})
			id := requestID(ctx)
			require.NotEmpty(t, id)
			if tc.taken {
				require.Equal(t, tc.given[len(tc.given)-1], id)
			} else {
				require.NotContains(t, tc.given, id)
			}
		})
	}
}

func TestSizesOfRequests(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("x", maxRequest)
	require.NoError(t, checkSize(&crusterv1.GetExecutionRequest{Execution: "a/B/c"}))
	require.Equal(t, abi.CodePayloadTooLarge, abi.CodeOf(checkSize(&crusterv1.GetExecutionRequest{Execution: large})))
}

// The log of a host shows its own faults, and keeps quiet about callers' faults.
func TestCallsAreLoggedByTheirStatus(t *testing.T) {
	t.Parallel()
	for code, want := range map[codes.Code]string{
		codes.OK:                "DEBUG",
		codes.NotFound:          "DEBUG",
		codes.InvalidArgument:   "DEBUG",
		codes.Unavailable:       "INFO",
		codes.ResourceExhausted: "INFO",
		codes.Internal:          "ERROR",
		codes.Unknown:           "ERROR",
	} {
		var out strings.Builder
		in := &interceptors{
			clock:   clockwork.NewRealClock(),
			log:     slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug})),
			metrics: newMetrics(nil),
		}
		in.record(t.Context(), "/cruster.v1.X/Y", "id-1", time.Now(), status.Error(code, "x"))
		require.Contains(t, out.String(), "level="+want+" ", code)
		require.Contains(t, out.String(), "request_id=id-1")
		require.Equal(t, code != codes.OK, strings.Contains(out.String(), "error="), code)
	}
}

func TestGuardCatchesPanics(t *testing.T) {
	t.Parallel()
	in := &interceptors{
		clock:    clockwork.NewRealClock(),
		lifetime: newLifetime(),
		log:      slog.New(slog.DiscardHandler),
		metrics:  newMetrics(nil),
	}
	err := in.guard(context.Background(), func() error { panic("oh") })
	require.Equal(t, codes.Internal, status.Code(err))
	require.NotContains(t, err.Error(), "oh", "what panicked is in the log")
	require.NoError(t, in.guard(context.Background(), func() error { return nil }))
}
