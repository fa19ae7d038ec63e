package execution

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/execution/request"
	"github.com/cruster/cruster/journal"
)

// computing starts an execution whose second turn computes until it is stopped, in the place of a run that is over.
func (f *fixture) computing(t *testing.T) (over, successor *journal.Execution) {
	t.Helper()
	f.scripts["w"] = []string{"done ok"}
	over = rowOf("w", "k")
	_, err := f.x.Starter.Start(t.Context(), over, nil)
	require.NoError(t, err)
	synctest.Wait()
	f.scripts["w"] = []string{"sleep 1s", "done later"}
	turns := f.endlessLater()
	require.Equal(t, "ok\n", f.startOver(over))
	successor, err = f.store.Load(t.Context(), over.ID)
	require.NoError(t, err)
	require.NotEqual(t, over.Chain, successor.Chain)
	time.Sleep(2 * time.Second)
	synctest.Wait()
	require.EqualValues(t, 1, turns.Load())
	return over, successor
}

// TestTerminateLeavesTheSuccessorAlone: a request to terminate a run is on its way while that ends and another run
// takes its place. The sender is told of the end, does not wait for the code of the other run, and breaks none of its
// turns off.
func TestTerminateLeavesTheSuccessorAlone(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"memory", "sqlite", "postgres"} {
		open := openerOf(t, kind)
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixtureOn(t, open(t), nil, nil)
				crashes := f.countCrashes()
				over, successor := f.computing(t)
				r, found := f.x.runs.Get(over.ID)
				require.True(t, found)
				turn := r.progress.turn.Load()
				require.NotNil(t, turn)

				taken := make(chan error, 1)
				f.x.runs.Post(over.ID, ofChain{over.Chain, lookForMail{taken}})
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				err := f.x.Stops.awaitEnd(ctx, request.RefTo(over), taken)
				require.Equal(t, abi.CodeExecutionNotFound, abi.CodeOf(err), "%v", err)
				require.Same(t, turn, r.progress.turn.Load(), "its turn was broken off")
				require.Zero(t, crashes.Load())

				require.NoError(t, f.x.Stops.Terminate(t.Context(), request.RefTo(successor), "enough"))
				require.NotSame(t, turn, r.progress.turn.Load())
				require.Equal(t, journal.Interrupted, f.stateOf(t, successor))
			})
		})
	}
}

// TestGivenUpCalleeThatWasStartedOver has callers give up a callee that has ended meanwhile, and been started over: the
// turn of the new run goes on.
func TestGivenUpCalleeThatWasStartedOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		over, successor := f.computing(t)
		r, _ := f.x.runs.Get(over.ID)
		turn := r.progress.turn.Load()
		m := request.StopMessage(journal.TerminateMessage, over.Chain, journal.Interrupt{GivenUp: true})
		f.x.Stops.tellStopped([]journal.Sent{{To: over.ID, Chain: over.Chain, Message: m}})
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Same(t, turn, r.progress.turn.Load(), "its turn was broken off")
		require.Equal(t, journal.Running, f.stateOf(t, successor))
	})
}

// TestTerminateFollowsTheChain terminates a run that continues as another one: the turn of that one is broken off.
func TestTerminateFollowsTheChain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.scripts["w"] = []string{"sleep 1s", "continue"}
		row := rowOf("w", "k")
		_, err := f.x.Starter.Start(t.Context(), row, nil)
		require.NoError(t, err)
		synctest.Wait()
		turns := f.endless() // the first turn of the next run
		time.Sleep(2 * time.Second)
		synctest.Wait()
		require.EqualValues(t, 1, turns.Load())
		begun := time.Now()
		require.NoError(t, f.x.Stops.Terminate(t.Context(), request.RefTo(row), "enough"))
		require.Less(t, time.Since(begun), turnTimeout)
		next, err := f.x.Rows.Load(t.Context(), request.RefTo(row))
		require.NoError(t, err)
		require.NotEqual(t, row.Run, next.Run)
		require.Equal(t, journal.Interrupted, next.State)
	})
}
