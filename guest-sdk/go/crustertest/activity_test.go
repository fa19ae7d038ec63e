package crustertest

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	cruster "github.com/cruster/cruster/guest-sdk/go"
)

func TestBackoff(t *testing.T) {
	t.Parallel()
	delays := func(p abi.Retry) []time.Duration {
		var all []time.Duration
		for n := 1; n <= 8; n++ {
			all = append(all, backoff(p, n)/time.Second)
		}
		return all
	}
	require.Equal(t, []time.Duration{1, 2, 4, 8, 16, 32, 60, 60}, delays(abi.Retry{}), "by default: doubled from one second, capped at a minute")
	require.Equal(t, []time.Duration{5, 10, 20, 40, 60, 60, 60, 60}, delays(abi.Retry{Base: int64(5 * time.Second)}))
	require.Equal(t, []time.Duration{7, 7, 7, 7, 7, 7, 7, 7}, delays(abi.Retry{Backoff: abi.BackoffConstant, Base: int64(7 * time.Second)}))
	require.Equal(t, []time.Duration{60, 60, 60, 60, 60, 60, 60, 60}, delays(abi.Retry{Backoff: abi.BackoffConstant, Base: int64(time.Hour)}))
}

// TestIdempotencyKeys: the key of a step is made of what the step is, and of how
// many alike came before it. Another step before it does not change it.
func TestIdempotencyKeys(t *testing.T) {
	t.Parallel()
	keys := func(inserted bool) []string {
		got, err := Run(t, keyTold, inserted, ExecutionID("test/keys/1"))
		require.NoError(t, err)
		return got
	}
	before, after := keys(false), keys(true)
	require.Equal(t, before, after, "a step that was inserted shifts the others")
	require.Equal(t, "test/keys/1/told/4bf5122f/1", before[0], "1, in msgpack, has this hash")
	require.Equal(t, "test/keys/1/told/4bf5122f/2", before[1])
	require.Equal(t, "test/keys/1/told/k/1", before[3])
	require.Equal(t, "test/keys/1/told/k/2", before[4])
	slices.Sort(before)
	require.Len(t, slices.Compact(before), 5, "two steps have one key")
}

var told = cruster.NewActivity("told", func(ctx *cruster.ActivityContext, _ int) (string, error) { return ctx.IdempotencyKey(), nil })

var keyTold = cruster.NewWorkflow("keyTold", func(ctx cruster.Context, inserted bool) ([]string, error) {
	if inserted {
		if _, err := told.Call(ctx, 99); err != nil {
			return nil, err
		}
	}
	keyed := told.With(cruster.ActivityKey("k"))
	return cruster.All(ctx, told.Go(ctx, 1), told.Go(ctx, 1), told.Go(ctx, 2), keyed.Go(ctx, 1), keyed.Go(ctx, 2))
})
