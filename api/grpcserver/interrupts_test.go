package grpcserver_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
)

// A request to stop says whether a paused execution goes on for it, or ends at once.
func TestWaysToStop(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var reasons []string
	b.engine.interrupt = func(_ context.Context, _, _, reason string) error {
		reasons = append(reasons, reason)
		return nil
	}
	for _, req := range []*crusterv1.InterruptExecutionRequest{
		{}, {Resume: true}, {Terminate: true}, {Resume: true, Terminate: true},
	} {
		req.Execution, req.Reason = "a/B/c", "enough"
		_, err := b.workflows.InterruptExecution(t.Context(), req)
		require.NoError(t, err)
	}
	require.Equal(t, []string{"enough", "resumed: enough", "terminated: enough", "terminated: enough"}, reasons)
}
