package cruster_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	cruster "github.com/cruster/cruster/guest-sdk/go"
)

var optionsWorkflow = cruster.NewWorkflow("test.options", func(ctx cruster.Context, _ int) (int, error) {
	return flaky.With(
		cruster.ActivityKey("order-42"), cruster.Retries(1), cruster.ConstantBackoff(time.Minute),
		cruster.Jitter(0.5), cruster.Timeout(time.Second),
	).Call(ctx, 1)
})

func TestCallOptions(t *testing.T) {
	t.Parallel()
	_, h, err := run(t, optionsWorkflow, 0)
	require.NoError(t, err)
	var a abi.Activity
	require.NoError(t, abi.Unmarshal(h.Events[1].Body, &a))
	require.Equal(t, "order-42", a.Key)
	require.Equal(
		t, abi.Retry{Backoff: abi.BackoffConstant, Base: int64(time.Minute), Jitter: 0.5, Retries: 1}, a.Retry,
	)
	require.Equal(t, int64(time.Second), a.Timeout)
}

func TestActivityOptionsRefuseBadValues(t *testing.T) {
	t.Parallel()
	require.PanicsWithValue(t, "cruster: Retries(-1) is not a number of attempts", func() { cruster.Retries(-1) })
	require.PanicsWithValue(t, "cruster: Jitter(1.5) is not between 0 and 1", func() { cruster.Jitter(1.5) })
	require.PanicsWithValue(t, "cruster: Timeout(0s) must be above zero", func() { cruster.Timeout(0) })
	require.PanicsWithValue(t, "cruster: ExponentialBackoff(-1s) must be above zero", func() {
		cruster.ExponentialBackoff(-time.Second)
	})
	require.PanicsWithValue(t, "cruster: ConstantBackoff(0s) must be above zero", func() { cruster.ConstantBackoff(0) })
	require.PanicsWithValue(t, "cruster: an activity key has 1 to 512 bytes, not 0", func() { cruster.ActivityKey("") })
	require.PanicsWithValue(
		t,
		"cruster: activity test.keyed: ActivityKey is an option of a single call: use it with With",
		func() {
			cruster.NewActivity(
				"test.keyed", func(*cruster.ActivityContext, int) (int, error) { return 0, nil },
				cruster.ActivityKey("k"),
			)
		},
	)
}
