package grpcserver

import (
	"context"
	"time"

	"github.com/jonboulle/clockwork"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
)

const (
	// readyTimeout bounds one look at the engine.
	readyTimeout = 2 * time.Second
	// healthInterval is how often a watch looks at the engine.
	healthInterval = time.Second
)

// healthService is the standard health service. It asks the engine each time, so that it reports progress and not mere
// life.
type healthService struct {
	healthv1.UnimplementedHealthServer
	clock    clockwork.Clock
	lifetime *lifetime
	ready    func(ctx context.Context) error
}

func (h *healthService) Check(
	ctx context.Context, req *healthv1.HealthCheckRequest,
) (*healthv1.HealthCheckResponse, error) {
	state := h.state(ctx, req.GetService())
	if state == healthv1.HealthCheckResponse_SERVICE_UNKNOWN {
		return nil, status.Errorf(codes.NotFound, "there is no service %q", req.GetService())
	}
	return &healthv1.HealthCheckResponse{Status: state}, nil
}

func (h *healthService) Watch(
	req *healthv1.HealthCheckRequest, stream grpc.ServerStreamingServer[healthv1.HealthCheckResponse],
) error {
	ctx, cancel := h.lifetime.bound(stream.Context())
	defer cancel()
	ticker := h.clock.NewTicker(healthInterval)
	defer ticker.Stop()
	last := healthv1.HealthCheckResponse_UNKNOWN
	for {
		if now := h.state(stream.Context(), req.GetService()); now != last {
			if err := stream.Send(&healthv1.HealthCheckResponse{Status: now}); err != nil {
				return err
			}
			last = now
		}
		select {
		case <-ticker.Chan():
		case <-ctx.Done():
			return status.Error(codes.Unavailable, "the watch has ended")
		}
	}
}

func (h *healthService) state(ctx context.Context, service string) healthv1.HealthCheckResponse_ServingStatus {
	switch service {
	case "", crusterv1.DeploymentService_ServiceDesc.ServiceName, crusterv1.WorkflowService_ServiceDesc.ServiceName,
		crusterv1.DeferredService_ServiceDesc.ServiceName:
	default:
		return healthv1.HealthCheckResponse_SERVICE_UNKNOWN
	}
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	if h.ready(ctx) != nil {
		return healthv1.HealthCheckResponse_NOT_SERVING
	}
	return healthv1.HealthCheckResponse_SERVING
}
