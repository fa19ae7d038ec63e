package execution

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/execution/largevalue"
	"github.com/cruster/cruster/host/execution/request"
	"github.com/cruster/cruster/journal"
)

// countedReads is a store that counts the whole rows that are read.
type countedReads struct {
	Store
	reads atomic.Int64
}

func (s *countedReads) FindRun(ctx context.Context, id journal.ID, run journal.RunID) (*journal.Execution, error) {
	s.reads.Add(1)
	return s.Store.FindRun(ctx, id, run)
}

// overWithLargeInput is an execution that is over, and a count of how often its whole row is read.
func overWithLargeInput(t *testing.T, f *fixture) (*journal.Execution, *countedReads) {
	t.Helper()
	f.scripts["over"] = []string{"done " + strings.Repeat("y", 1<<20)}
	row := rowOf("over", "k")
	row.Input = abi.MustMarshal(strings.Repeat("x", 3<<20))
	_, err := f.x.Starter.Start(t.Context(), row, nil)
	require.NoError(t, err)
	synctest.Wait()
	brief, err := f.x.Rows.Load(t.Context(), request.RefTo(row))
	require.NoError(t, err)
	require.True(t, brief.State.Final())
	require.Positive(t, brief.LeftOut.Input)
	counted := &countedReads{Store: f.stored.Store}
	f.stored.Store = counted
	return brief, counted
}

// TestInputsOfRestartsArePaidForBeforeTheyAreRead: there is no memory for the input of a run that is to be restarted,
// or forked. Both are refused, and have read nothing.
func TestInputsOfRestartsArePaidForBeforeTheyAreRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		over, store := overWithLargeInput(t, f)
		others, err := f.x.Queued.Acquire(t.Context(), f.x.Queued.Total())
		require.NoError(t, err)
		_, _, err = f.x.Starter.ReadInput(t.Context(), over)
		require.Equal(t, abi.CodeOverloaded, abi.CodeOf(err))
		_, err = f.x.Recoder.Fork(t.Context(), over, rowOf("over", "fork"), 0)
		require.Equal(t, abi.CodeOverloaded, abi.CodeOf(err))
		require.Zero(t, store.reads.Load())

		others.Release()
		input, release, err := f.x.Starter.ReadInput(t.Context(), over)
		require.NoError(t, err)
		require.Greater(t, len(input), 3<<20)
		require.GreaterOrEqual(t, f.x.Queued.Used(), int64(largevalue.InputCopies*len(input)))
		release()
		fork := rowOf("over", "fork")
		started, err := f.x.Recoder.Fork(t.Context(), over, fork, 0)
		require.NoError(t, err)
		require.True(t, started)
		require.Equal(t, input, fork.Input)
		synctest.Wait()
		require.Zero(t, f.x.Queued.Used())
	})
}

// TestPolledResultsArePaidForBeforeTheyAreRead: an execution that polls another execution, or calls a workflow that is
// over, waits for the memory of the result.
func TestPolledResultsArePaidForBeforeTheyAreRead(t *testing.T) {
	t.Parallel()
	for _, action := range []string{"poll scripts/over/k", "call over"} {
		synctest.Test(t, func(t *testing.T) {
			f := newFixture(t)
			over, store := overWithLargeInput(t, f)
			if action == "call over" {
				f.scripts["over"] = []string{"done " + strings.Repeat("y", 1<<20)}
				child := rowOf("over", "child")
				_, err := f.x.Starter.Start(t.Context(), child, nil)
				require.NoError(t, err)
				synctest.Wait()
			}
			others, err := f.x.Delivering.Acquire(t.Context(), f.x.Delivering.Total())
			require.NoError(t, err)
			f.scripts["w"] = []string{action, "done ok"}
			row := rowOf("w", "k")
			_, err = f.x.Starter.Start(t.Context(), row, nil)
			require.NoError(t, err)
			synctest.Wait()
			require.Zero(t, store.reads.Load(), action)
			require.Equal(t, 1, f.x.Delivering.Waiting())
			others.Release()
			synctest.Wait()
			require.EqualValues(t, 1, store.reads.Load())
			require.Zero(t, f.x.Delivering.Used())
			now, err := f.store.Load(t.Context(), row.ID)
			require.NoError(t, err)
			require.Equal(t, journal.Completed, now.State)
			require.True(t, over.State.Final())
		})
	}
}
