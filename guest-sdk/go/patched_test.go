package cruster_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	cruster "github.com/cruster/cruster/guest-sdk/go"
	"github.com/cruster/cruster/guest-sdk/go/crustertest"
)

// patching asks three times about one change, from two coroutines, and once about another.
var patching = cruster.NewWorkflow("test.patching", func(ctx cruster.Context, _ int) ([]bool, error) {
	ask := func(ctx cruster.Context) (bool, error) { return cruster.Patched(ctx, "one"), nil }
	both, err := cruster.All(ctx, cruster.Async(ctx, ask), cruster.Async(ctx, ask))
	return append(both, cruster.Patched(ctx, "one"), cruster.Patched(ctx, "other")), err
})

func TestPatched(t *testing.T) {
	t.Parallel()
	answers, h, err := run(t, patching, 0)
	require.NoError(t, err)
	require.Equal(t, []bool{true, true, true, true}, answers, "a new execution takes all changes")
	require.Equal(t, []string{"patched one", "patched other"}, h.Steps(), "an id is asked about once")

	answers, h, err = run(t, patching, 0, crustertest.Unpatched("one"))
	require.NoError(t, err)
	require.Equal(t, []bool{false, false, false, true}, answers)
	require.Equal(t, []string{"patched one", "patched other"}, h.Steps())
}

var charged = cruster.NewActivity("test.charged", func(_ *cruster.ActivityContext, cents int) (int, error) {
	return cents, nil
})

// before and after are one workflow, before and after it was changed. A step means something else now: it takes cents
// with the tax.
var (
	before = cruster.NewWorkflow("test.before", func(ctx cruster.Context, cents int) (int, error) {
		return charged.Call(ctx, cents)
	})
	after = cruster.NewWorkflow("test.after", func(ctx cruster.Context, cents int) (int, error) {
		if cruster.Patched(ctx, "tax") {
			cents += cents / 5
		}
		return charged.Call(ctx, cents)
	})
)

// TestPatchedReplays: a history of the old code fits the new code, and so does one of the new code.
func TestPatchedReplays(t *testing.T) {
	t.Parallel()
	_, old, err := run(t, before, 100)
	require.NoError(t, err)
	old.Workflow = after.Name()
	require.NoError(t, old.Replay())

	total, fresh, err := run(t, after, 100)
	require.NoError(t, err)
	require.Equal(t, 120, total)
	require.NoError(t, fresh.Replay())
	total, moved, err := run(t, after, 100, crustertest.Unpatched("tax"))
	require.NoError(t, err)
	require.Equal(t, 100, total)
	require.NoError(t, moved.Replay())

	fresh.Workflow = before.Name()
	require.Equal(
		t, abi.CodeNondeterminism, abi.CodeOf(fresh.Replay()), "the old code does not fit what the new code did",
	)
}

// cleaning asks about a change after an interrupt.
var cleaning = cruster.NewWorkflow("test.cleaning", func(ctx cruster.Context, _ int) (bool, error) {
	_, err := go1.Await(ctx)
	return cruster.Patched(ctx, "cleanup") && err != nil, nil
}).Accepts(go1)

var go1 = cruster.NewDeferred[int]("test.go1")

func TestPatchedAfterAnInterrupt(t *testing.T) {
	t.Parallel()
	answer, _, err := run(t, cleaning, 0, crustertest.InterruptAfter(1, "stop"))
	require.NoError(t, err)
	require.True(t, answer)
}

func TestPatchedRefusesBadIDs(t *testing.T) {
	t.Parallel()
	require.PanicsWithValue(t, `cruster: patch name "" must have 1 to 128 bytes`, func() {
		cruster.Patched(cruster.Context{}, "")
	})
}
