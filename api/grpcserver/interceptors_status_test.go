package grpcserver

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/api/rpcerror"
	"github.com/cruster/cruster/host"
)

func TestStatuses(t *testing.T) {
	t.Parallel()
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	late, cancel := context.WithDeadline(t.Context(), time.Unix(0, 0))
	defer cancel()
	for name, tc := range map[string]struct {
		ctx          context.Context
		err          error
		shuttingDown bool
		want         codes.Code
		wantCode     abi.Code
	}{
		"OK": {t.Context(), nil, true, codes.OK, ""},
		"Coded": {
			t.Context(), abi.Errorf(abi.CodeExecutionNotFound, "x"), false, codes.NotFound, abi.CodeExecutionNotFound,
		},
		"Plain":             {t.Context(), errors.New("x"), false, codes.Internal, abi.CodeInternal},
		"Status":            {t.Context(), status.Error(codes.Unimplemented, "x"), false, codes.Unimplemented, ""},
		"CallerGaveUp":      {cancelled, abi.Errorf(abi.CodeStore, "x"), false, codes.Canceled, ""},
		"CallerTooLate":     {late, context.DeadlineExceeded, false, codes.DeadlineExceeded, abi.CodeDeadline},
		"WaitCutByShutdown": {t.Context(), context.Canceled, true, codes.Unavailable, abi.CodeShuttingDown},
		"DeadlineThen": {
			t.Context(), abi.Errorf(abi.CodeDeadline, "x"), true, codes.Unavailable, abi.CodeShuttingDown,
		},
		"OtherErrorThen": {
			t.Context(), abi.Errorf(abi.CodeBadInput, "x"), true, codes.InvalidArgument, abi.CodeBadInput,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := statusOf(tc.ctx, tc.err, tc.shuttingDown)
			require.Equal(t, tc.want, status.Code(err))
			if tc.wantCode != "" {
				require.Equal(t, tc.wantCode, abi.CodeOf(rpcerror.From(err)))
			}
		})
	}
}

func TestStatusOfAFullHostNamesADelay(t *testing.T) {
	t.Parallel()
	err := statusOf(
		t.Context(), &host.Overloaded{Reason: abi.Errorf(abi.CodeOverloaded, "full"), After: time.Second}, false,
	)
	delay, ok := rpcerror.RetryDelay(err)
	require.True(t, ok)
	require.Equal(t, time.Second, delay)
}
