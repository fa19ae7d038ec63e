package storm_test

import (
	"runtime"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	client "github.com/cruster/cruster/clients/go"
	"github.com/cruster/cruster/internal/extenttest"
	"github.com/cruster/cruster/internal/harness"
)

// TestEndlessLoopsOfOneTenant: one tenant has 64 activities that never end. Workflows, their activities and entities of
// another go on, and so does the host: it answers, and it ends when it is told to, within the time that it has for it.
// Nothing ends the loops but that: at the end all of them compute, each in its first attempt, so no call has waited for
// one. All loops but those in the few places of computing guests wait meanwhile. Loops touch no store, and keep all
// processors busy: Postgres is there in full.
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
	const loops, rounds = 64, 10
	places := max(1, runtime.GOMAXPROCS(0)-1)
	h := at.host(t, "--activity-timeout", "24h", "--drain-timeout", "1s")
	h.push("tests/guests/greedy", nil)
	other := h.as(t, "other")
	_, err := other.Push(t.Context(), client.PushRequest{
		Name: "storm", Binary: harness.Module(t, "tests/guests/greedy"),
	})
	require.NoError(t, err)
	h.startAll("storm/Spin", 0, loops, func(i int) any { return i })
	h.awaitMetric("cruster_activities_running", loops)
	h.awaitMetric("cruster_instances_waiting_for_core", int64(loops-places))

	for n := range rounds {
		sum, err := client.Workflow[int, int](other, "storm/Count").WithKeyRaw(text(n)).Execute(t.Context(), 10)
		require.NoError(t, err)
		require.Equal(t, 10, sum)
		for call := 1; call <= 10; call++ {
			sum, err := client.Operation[int, int](other, "storm/Counter", "add").On("one").Call(t.Context(), 1)
			require.NoError(t, err)
			require.Equal(t, 10*n+call, sum)
		}
	}
	h.awaitMetric("cruster_instances_waiting_for_core", int64(loops-places))
	require.EqualValues(t, loops, h.process.Metric("cruster_activities_running"))
	for i := range loops {
		d, err := h.client.Workflows().GetExecution(t.Context(), &crusterv1.GetExecutionRequest{
			View:      crusterv1.ExecutionView_EXECUTION_VIEW_FULL,
			Execution: "storm/Spin/" + text(i),
		})
		require.NoError(t, err)
		var attempts []uint32
		for _, op := range d.GetDetails().GetPending() {
			if op.GetKind() == abi.OpActivity {
				attempts = append(attempts, op.GetAttempt())
			}
		}
		require.Equal(t, []uint32{1}, attempts)
	}
	h.process.Signal(syscall.SIGTERM)
	require.Zero(t, h.process.Exit())
}
