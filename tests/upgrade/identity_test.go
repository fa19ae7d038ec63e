package upgrade_test

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host"
	"github.com/cruster/cruster/host/op"
	"github.com/cruster/cruster/internal/harness"
	"github.com/cruster/cruster/journal"
)

// sweep deletes all that retention may delete, once its time has come. No engine may run on the store.
func sweep(t *testing.T, store journal.Store) (swept int) {
	t.Helper()
	fences, err := store.ClaimShards(t.Context(), "the test")
	require.NoError(t, err)
	for {
		n, err := store.Sweep(t.Context(), fences, math.MaxInt64, 100)
		require.NoError(t, err)
		if n == 0 {
			return swept
		}
		swept += n
	}
}

// TestAKeyThatIsUsedAgainIsAnotherRun starts an order anew after retention has deleted its first run. Outputs that
// leave the run differ: a payment provider does not take the second charge for the first, and the callee is one of its
// own.
func TestAKeyThatIsUsedAgainIsAnotherRun(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, store journal.Store, g guest) {
		e := harness.Engine(t, store)
		g.push(t, e, "base")
		first := openGate(t, e, atGate(t, e, "order"))
		require.NoError(t, e.Stop(context.Background()))
		require.Equal(t, 2, sweep(t, store), "the order and its reminder")

		e = harness.Engine(t, store)
		again := openGate(t, e, atGate(t, e, "order"))
		require.Equal(t, first.Steps, again.Steps)
		require.Len(t, again.Keys, len(first.Steps))
		for step, key := range again.Keys {
			require.NotEqual(t, first.Keys[step], key, step)
		}
		require.NotEqual(t, first.UUID, again.UUID)
		require.NotEqual(t, first.Reminder, again.Reminder, "a callee of its own")
		require.Equal(t, []string{"charge", "charge", "reserve", "reserve", "ship", "ship"}, effects(t, e, "order"))
	})
}

// TestAnExecutionThatWasFoundIsLinked has a workflow wait for an execution that another caller has started. Retention
// keeps that one while the workflow waits, and after a crash the workflow is answered by it: it is not started anew.
func TestAnExecutionThatWasFoundIsLinked(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, store journal.Store, g guest) {
		e := harness.Engine(t, store)
		g.push(t, e, "base")
		order := atGate(t, e, "order")
		follower := harness.Start(t, e, "change/Follow", "order")
		callee := linked(t, store, e, follower)
		require.Equal(t, order, callee.Name())
		require.True(t, callee.Parent.IsZero(), "the follower did not start it")
		e.Kill()

		// The order ends, and the host ends before the follower is told.
		fences, err := store.ClaimShards(t.Context(), "the test")
		require.NoError(t, err)
		results, err := store.Commit(t.Context(), []journal.Write{{
			ID: callee.ID, Run: callee.Run, Fence: fences[callee.ID.Shard()],
			Update: &journal.Update{
				State:      journal.Completed,
				FinishedAt: 1,
				Value:      harness.Encode(t, report{Keys: map[string]string{}, Steps: []string{"found"}}),
			},
		}})
		require.NoError(t, err)
		require.NoError(t, results[0].Err)
		require.Equal(t, 1, sweep(t, store), "its reminder alone: the order is linked")

		e = harness.Engine(t, store)
		row := harness.Wait(t, e, follower)
		require.Equal(t, journal.Completed, row.State, "%v", row.Error)
		require.Equal(t, []string{"found"}, harness.Decode[report](t, row.Value).Steps)
		kept, err := e.Observer().Poll(t.Context(), "", order)
		require.NoError(t, err)
		require.Equal(t, callee.Run, kept.Run, "it was not started anew")

		require.NoError(t, e.Stop(context.Background()))
		require.Equal(t, 2, sweep(t, store), "the follower is over, and with it the link")
	})
}

// linked waits until a follower is linked to the order that it waits for, and returns that.
func linked(t *testing.T, store journal.Store, e *host.Engine, follower string) (callee *journal.Execution) {
	t.Helper()
	row, err := e.Observer().Poll(t.Context(), "", follower)
	require.NoError(t, err)
	call, refused := op.New(abi.OpCall, abi.MustMarshal(abi.Call{Input: row.Input, Workflow: "Order"}), 1, 0)
	require.Nil(t, refused)
	call.Occurrence = 1
	harness.Eventually(t, follower+" is linked", func() bool {
		callee, err = store.Callee(t.Context(), journal.Caller{ID: row.ID, Run: row.Run, Step: call.Op.Step()})
		return err == nil
	})
	return callee
}
