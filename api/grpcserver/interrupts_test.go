package grpcserver_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
)

// There are three ways to stop an execution.
func TestWaysToStop(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var reasons []string
	b.engine.interrupt = func(_ context.Context, _, _, reason string) error {
		reasons = append(reasons, reason)
		return nil
	}
	_, err := b.workflows.InterruptExecution(t.Context(), &crusterv1.InterruptExecutionRequest{
		Execution: "a/B/c", Reason: "enough",
	})
	require.NoError(t, err)
	_, err = b.workflows.ResumeExecution(t.Context(), &crusterv1.ResumeExecutionRequest{
		Execution: "a/B/c", Interrupt: true, Reason: "enough",
	})
	require.NoError(t, err)
	_, err = b.workflows.TerminateExecution(t.Context(), &crusterv1.TerminateExecutionRequest{
		Execution: "a/B/c", Reason: "enough",
	})
	require.NoError(t, err)
	require.Equal(t, []string{"enough", "resumed: enough", "terminated: enough"}, reasons)
}
