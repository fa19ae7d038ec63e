package grpcserver_test

import (
	"context"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/cruster/cruster/abi"
)

func TestHealthFollowsTheEngine(t *testing.T) {
	t.Parallel()
	b := setup(t)
	health := healthv1.NewHealthClient(b.conn)
	var down error
	b.engine.ready = func(context.Context) error { return down }
	check := func(service string) healthv1.HealthCheckResponse_ServingStatus {
		resp, err := health.Check(t.Context(), &healthv1.HealthCheckRequest{Service: service})
		require.NoError(t, err)
		return resp.GetStatus()
	}
	require.Equal(t, healthv1.HealthCheckResponse_SERVING, check(""))
	require.Equal(t, healthv1.HealthCheckResponse_SERVING, check("cruster.v1.WorkflowService"))

	down = abi.Errorf(abi.CodeStore, "the disk is full")
	require.Equal(t, healthv1.HealthCheckResponse_NOT_SERVING, check(""))

	_, err := health.Check(t.Context(), &healthv1.HealthCheckRequest{Service: "other"})
	require.Equal(t, codes.NotFound, status.Code(err))
}

func TestHealthWatchTellsTheState(t *testing.T) {
	t.Parallel()
	b := setup(t)

	stream, err := healthv1.NewHealthClient(b.conn).Watch(t.Context(), &healthv1.HealthCheckRequest{})
	require.NoError(t, err)
	resp, err := stream.Recv()
	require.NoError(t, err)
	require.Equal(t, healthv1.HealthCheckResponse_SERVING, resp.GetStatus())
	b.server.Shutdown(t.Context())
	for err == nil {
		_, err = stream.Recv()
	}
	require.NotErrorIs(t, err, io.EOF)
}
