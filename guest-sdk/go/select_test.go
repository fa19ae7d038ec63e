package cruster_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	cruster "github.com/cruster/cruster/guest-sdk/go"
	"github.com/cruster/cruster/guest-sdk/go/crustertest"
)

var firstOf = cruster.NewWorkflow("test.firstOf", func(ctx cruster.Context, _ int) (string, error) {
	slow := cruster.Async(ctx, func(ctx cruster.Context) (string, error) {
		return "slow", cruster.Sleep(ctx, time.Hour)
	})
	fast := cruster.Async(ctx, func(ctx cruster.Context) (string, error) {
		return "fast", cruster.Sleep(ctx, time.Second)
	})
	i, v, err := cruster.First(ctx, slow, fast, slow, fast)
	if err != nil {
		return "", err
	}
	if slow.Done() || !fast.Done() {
		return "", fmt.Errorf("first: slow is done: %v, fast is done: %v", slow.Done(), fast.Done())
	}
	w, err := slow.Await(ctx)
	again, _ := slow.Await(ctx)
	return fmt.Sprint(i, v, w, again), err
})

func TestFirstLeavesTheOthersRunning(t *testing.T) {
	t.Parallel()
	got, h, err := run(t, firstOf, 0)
	require.NoError(t, err)
	require.Equal(t, "1fastslowslow", got)
	require.Equal(t, time.Hour, h.Duration())
}

var timing = cruster.NewWorkflow("test.timing", func(ctx cruster.Context, limit time.Duration) (string, error) {
	return cruster.WithTimeout(ctx, limit, approved.Future(ctx))
}).Accepts(approved)

func TestTimeout(t *testing.T) {
	t.Parallel()
	late := crustertest.ResolveAfter(time.Minute, approved, "yes")
	got, h, err := run(t, timing, 2*time.Minute, late)
	require.NoError(t, err)
	require.Equal(t, "yes", got)
	require.Equal(t, crustertest.Canceled, h.Events[len(h.Events)-1].Type, "the timer that lost is cancelled")

	_, h, err = run(t, timing, 2*time.Second, late)
	require.ErrorContains(t, err, cruster.ErrTimeout.Error())
	require.Equal(t, 2*time.Second, h.Duration())
	require.Equal(t, crustertest.Delivered, h.Events[len(h.Events)-1].Type, "the deferred is not cancelled")
}

var selecting = cruster.NewWorkflow("test.selecting", func(ctx cruster.Context, _ int) ([]string, error) {
	var got []string
	sum := echo.Go(ctx, pair{A: 4})
	wait := approved.Future(ctx)
	for range 3 {
		err := cruster.Select(ctx,
			cruster.On(wait, func(s string, err error) {
				got = append(got, fmt.Sprint("approved ", s, err))
				wait = approved.Future(ctx)
			}),
			cruster.On(sum, func(p pair, err error) {
				got = append(got, fmt.Sprint("echo ", p.A, err))
				sum = cruster.Async(ctx, func(ctx cruster.Context) (pair, error) {
					return pair{}, cruster.Sleep(ctx, time.Hour)
				})
			}),
			cruster.After(time.Minute, func() { got = append(got, "minute") }),
		)
		if err != nil {
			return nil, err
		}
	}
	return got, nil
}).Accepts(approved)

func TestSelect(t *testing.T) {
	t.Parallel()
	got, _, err := run(
		t, selecting, 0, crustertest.RejectAfter(90*time.Second, approved, cruster.Errorf("no", "never")),
	)
	require.NoError(t, err)
	require.Equal(t, []string{"echo 4 <nil>", "minute", "approved CR-2014: never"}, got)
}

var emptySelect = cruster.NewWorkflow("test.emptySelect", func(ctx cruster.Context, _ int) (int, error) {
	if _, _, err := cruster.First[int](ctx); err == nil {
		return 0, fmt.Errorf("First without futures must fail")
	}
	got, err := cruster.All[int](ctx)
	if err != nil {
		return 0, fmt.Errorf("All without futures: %w", err)
	}
	if len(got) != 0 {
		return 0, fmt.Errorf("All without futures returned %v", got)
	}
	return 0, cruster.Select(ctx)
})

func TestSelectWithoutCases(t *testing.T) {
	t.Parallel()
	_, _, err := run(t, emptySelect, 0)
	require.ErrorContains(t, err, "no cases")
}
