package crustertest

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	cruster "github.com/cruster/cruster/guest-sdk/go"
)

// TestIdempotencyKeys: the key of a step is made of the step's kind and content, and of the number
// of equal steps before it. Another step before it does not change it.
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

var told = cruster.NewActivity("told", func(ctx *cruster.ActivityContext, _ int) (string, error) {
	return ctx.IdempotencyKey(), nil
})

var keyTold = cruster.NewWorkflow("keyTold", func(ctx cruster.Context, inserted bool) ([]string, error) {
	if inserted {
		if _, err := told.Call(ctx, 99); err != nil {
			return nil, err
		}
	}
	keyed := told.With(cruster.ActivityKey("k"))
	return cruster.All(ctx, told.Go(ctx, 1), told.Go(ctx, 1), told.Go(ctx, 2), keyed.Go(ctx, 1), keyed.Go(ctx, 2))
})
