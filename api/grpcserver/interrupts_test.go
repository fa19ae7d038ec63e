package grpcserver_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
)

// A request to stop says whether a paused execution goes on for it.
func TestInterruptResumes(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var reasons []string
	b.engine.interrupt = func(_ context.Context, _, _, reason string) error {
		reasons = append(reasons, reason)
		return nil
	}
	for _, resume := range []bool{false, true} {
		_, err := b.workflows.Interrupt(t.Context(), &crusterv1.InterruptRequest{Execution: "a/B/c", Reason: "enough", Resume: resume})
		require.NoError(t, err)
	}
	require.Equal(t, []string{"enough", "resumed: enough"}, reasons)
}
