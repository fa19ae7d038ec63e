package cruster_test

import (
	"strings"
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
	require.Regexp(
		t, `activity test\.crashing panicked: .*divide by zero \(in [^ <]*\.init\.func\d+ go/activity_test\.go:\d+\)$`,
		err,
	)
	last := h.Events[len(h.Events)-1]
	require.Equal(t, abi.CodeActivityCrashed, last.Err.Code)
	require.True(t, last.Err.Retryable)
}

var crashingDeep = cruster.NewActivity("test.crashingDeep", func(_ *cruster.ActivityContext, n int) (string, error) {
	return repeated(n), nil
})

//go:noinline
func repeated(n int) string { return strings.Repeat("x", n) }

var callsCrashingDeep = cruster.NewWorkflow("test.callsCrashingDeep", func(ctx cruster.Context, n int) (string, error) {
	return crashingDeep.Call(ctx, n)
})

// A panic of a library shows its caller.
func TestPanicInALibrary(t *testing.T) {
	t.Parallel()
	_, _, err := run(t, callsCrashingDeep, -1)
	require.Regexp(t, `panicked: strings: negative Repeat count \(in strings\.Repeat strings/strings\.go:\d+ < `+
		`[^ ]*\.repeated go/activity_test\.go:\d+ < [^ ]*\.init\.func\d+ go/activity_test\.go:\d+\)$`, err)
}
