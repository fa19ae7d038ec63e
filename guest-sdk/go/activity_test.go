package cruster_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	cruster "github.com/cruster/cruster/guest-sdk/go"
)

func TestRetries(t *testing.T) {
	t.Parallel()
	attempts, h, err := run(t, retrying, 3)
	require.NoError(t, err)
	require.Equal(t, 3, attempts)
	require.Equal(t, 3*time.Second, h.Duration(), "1 s and 2 s of backoff")

	_, h, err = run(t, retrying, 9)
	require.ErrorContains(t, err, "not yet")
	require.Equal(t, 7*time.Second, h.Duration(), "1 s, 2 s and 4 s of backoff")
}

var crashing = cruster.NewActivity("test.crashing", func(_ *cruster.ActivityContext, n int) (int, error) {
	return 1 / n, nil
})

var callsCrashing = cruster.NewWorkflow("test.callsCrashing", func(ctx cruster.Context, n int) (int, error) {
	return crashing.Call(ctx, n)
})

func TestPanicInActivity(t *testing.T) {
	t.Parallel()
	_, h, err := run(t, callsCrashing, 0)
	require.ErrorContains(t, err, "activity_test.go:")
	require.ErrorContains(t, err, "divide by zero")
	last := h.Events[len(h.Events)-1]
	require.Equal(t, abi.CodeActivityCrashed, last.Err.Code)
	require.True(t, last.Err.Retryable)
}
