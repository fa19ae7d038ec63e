package storm_test

import (
	"context"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	client "github.com/cruster/cruster/clients/go"
	"github.com/cruster/cruster/internal/extenttest"
	"github.com/cruster/cruster/internal/harness"
)

// TestEndlessLoopsOfOneTenant: one tenant has 64 activities that never end. Workflows, their activities and entities of
// another go on, and so does the host: it answers, and it ends when it is told to, within the time that it has for it.
// Nothing ends the loops but that. While they run no attempt of theirs ends: at the end all of them compute, each in
// its first attempt. The calls are so many that they would not come to their end if each had to wait for the loops. How
// long they may take depends on how long they take without loops, on a machine as busy as this one. Loops touch no
// store, and keep all processors busy: Postgres is there in full.
func TestEndlessLoopsOfOneTenant(t *testing.T) {
	t.Parallel()
	for _, kind := range harness.StoreKinds[:extenttest.Sized(len(harness.StoreKinds), 1)] {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			standLoops(t, storeOf(t, kind))
		})
	}
}

func standLoops(t *testing.T, at store) {
	const loops, rounds, first, slower, leastLimit = 64, 33, 3, 20, 90 * time.Second
	h := at.host(t, "--activity-timeout", "24h", "--drain-timeout", "1s")
	h.push("tests/guests/greedy", nil)
	other := h.as(t, "other")
	_, err := other.Push(t.Context(), client.PushRequest{
		Name: "storm", Binary: harness.Module(t, "tests/guests/greedy"),
	})
	require.NoError(t, err)
	round := func(ctx context.Context, n int) {
		sum, err := client.Workflow[int, int](other, "storm/Count").WithKeyRaw(text(n)).Execute(ctx, 10)
		require.NoError(t, err)
		require.Equal(t, 10, sum)
		for call := 1; call <= 10; call++ {
			sum, err := client.Operation[int, int](other, "storm/Counter", "add").On("one").Call(ctx, 1)
			require.NoError(t, err)
			require.Equal(t, 10*n+call, sum)
		}
	}
	begun := time.Now()
	for n := range first {
		round(t.Context(), n)
	}
	limit := max(leastLimit, slower*rounds/first*time.Since(begun))

	h.startAll("storm/Spin", 0, loops, func(i int) any { return i })
	h.awaitMetric("cruster_activities_running", loops)

	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	for n := first; n < rounds; n++ {
		round(ctx, n)
	}
	require.EqualValues(t, loops, h.process.Metric("cruster_activities_running"))
	for i := range loops {
		d, err := h.client.Workflows().Describe(t.Context(), &crusterv1.DescribeRequest{
			Execution: "storm/Spin/" + text(i),
		})
		require.NoError(t, err)
		var attempts []uint32
		for _, op := range d.GetPending() {
			if op.GetKind() == abi.OpActivity {
				attempts = append(attempts, op.GetAttempt())
			}
		}
		require.Equal(t, []uint32{1}, attempts)
	}
	h.process.Signal(syscall.SIGTERM)
	require.Zero(t, h.process.Exit())
}
