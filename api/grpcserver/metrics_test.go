package grpcserver_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/stretchr/testify/require"

	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
)

func TestMetricsCountCalls(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.engine.resume = func(context.Context, string, string) error { return nil }
	_, err := b.workflows.ResumeExecution(t.Context(), &crusterv1.ResumeExecutionRequest{Execution: "a/B/c"})
	require.NoError(t, err)

	require.Contains(
		t, b.metrics(), `cruster_grpc_requests_total{code="OK",method="cruster.v1.WorkflowService/ResumeExecution"} 1`,
	)
}

// metrics returns the metrics exposed by the host.
func (b *testBundle) metrics() string {
	rec := httptest.NewRecorder()
	promhttp.HandlerFor(b.registry, promhttp.HandlerOpts{}).ServeHTTP(
		rec, httptest.NewRequest(http.MethodGet, "/metrics", nil),
	)
	return rec.Body.String()
}
