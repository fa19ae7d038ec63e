package storm_test

import (
	"context"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/client"
	"github.com/cruster/cruster/internal/harness"
)

// TestEndlessLoopsOfOneTenant: one tenant has 64 activities that never end. Workflows, their
// activities and entities of another go on, and so does the host: it answers, and it ends
// when it is told to, within the time that it has for it. Nothing ends the loops but that.
// While they run no attempt of theirs ends: at the end all of them compute, each in its first attempt.
// The calls are so many that they would not come to their end if each had to wait for the loops.
func TestEndlessLoopsOfOneTenant(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, at store) {
		const loops = 64
		h := at.host(t, "--activity-timeout", "24h", "--drain-timeout", "1s")
		h.push("tests/guests/greedy", nil)
		other := h.as(t, "other")
		_, err := other.Push(t.Context(), client.PushRequest{Name: "storm", Binary: harness.Module(t, "tests/guests/greedy")})
		require.NoError(t, err)

		h.startAll("storm/Spin", 0, loops, func(i int) any { return i })
		h.awaitMetric("cruster_activities_running", loops)

		ctx, cancel := context.WithTimeout(t.Context(), harness.Patience)
		defer cancel()
		for i := range 30 {
			sum, err := client.Workflow[int, int](other, "storm/Count").WithKeyRaw(text(i)).Execute(ctx, 10)
			require.NoError(t, err)
			require.Equal(t, 10, sum)
		}
		for n := 1; n <= 300; n++ {
			sum, err := client.Operation[int, int](other, "storm/Counter", "add").On("one").Call(ctx, 1)
			require.NoError(t, err)
			require.Equal(t, n, sum)
		}
		require.EqualValues(t, loops, h.process.Metric("cruster_activities_running"))
		for i := range loops {
			d, err := h.client.Workflows().Describe(t.Context(), &crusterv1.DescribeRequest{Execution: "storm/Spin/" + text(i)})
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
	})
}
