package execution

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/guest"
	"github.com/cruster/cruster/host/timer"
	"github.com/cruster/cruster/journal"
)

// hungry has the guests of a fixture take memory for their ops: so many bytes with the first turn.
func hungry(f *fixture, bytes int64) Opener {
	return func(ctx context.Context, row *journal.Execution) (Opening, error) {
		opening, err := f.open(ctx, row)
		open := opening.Open
		opening.Open = func(ctx context.Context, memory guest.Memory) (Guest, error) {
			g, err := open(ctx, memory)
			if err == nil && !memory.Ops.Grow(bytes) {
				return nil, abi.Errorf(abi.CodeOverloaded, "no memory")
			}
			return g, err
		}
		return opening, err
	}
}

// TestOpsAreCountedWithoutAnInstance evicts an instance whose ops are in memory still.
func TestOpsAreCountedWithoutAnInstance(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.programs.open = hungry(f, 1000)
		f.scripts["w"] = []string{"deferred d ; deferred e", "park", "done ok"}
		row := rowOf("w", "k")
		_, err := f.commits.Commit(journal.Write{ID: row.ID, Run: row.Run, Start: row})
		require.NoError(t, err)
		r := newRun(f.x.shared, row.ID)
		r.Receive([]notice{started{row: row}})
		require.EqualValues(t, 1000, f.x.Queued.Used())
		require.EqualValues(t, 1, f.x.Memory.Used())
		r.instance.Drop()
		require.Zero(t, f.x.Memory.Used())
		require.EqualValues(t, 1000, f.x.Queued.Used(), "the ledger has the ops")

		r.Receive([]notice{f.settled(t, r, journal.Deferred{Name: "d", Value: abi.Nil})})
		require.NotNil(t, r.instance.Guest())
		require.EqualValues(t, 1000, f.x.Queued.Used(), "they are counted once")
		r.instance.Drop()
		r.unload()
		require.Zero(t, f.x.Queued.Used())

		r.Receive([]notice{f.settled(t, r, journal.Deferred{Name: "e", Value: abi.Nil})})
		require.Equal(t, journal.Completed, r.row.State)
		require.Zero(t, f.x.Queued.Used())
	})
}

// TestAStarvedRunIsTakenUpAgain has a run wait for memory that another holds: it holds none itself meanwhile, and goes
// on when there is.
func TestAStarvedRunIsTakenUpAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.programs.open = hungry(f, f.x.Queued.Total()*3/4)
		f.scripts["w"] = []string{"done ok"}
		other := f.x.Queued.Empty()
		require.True(t, other.Grow(f.x.Queued.Total()/2))
		row := rowOf("w", "k")
		_, err := f.x.Starter.Start(t.Context(), row, nil)
		require.NoError(t, err)
		timer.Wait(t.Context(), f.x.Clock, quarantineRetry)
		synctest.Wait()
		now, err := f.store.Load(t.Context(), row.ID)
		require.NoError(t, err)
		require.Equal(t, journal.Running, now.State)
		require.Equal(t, f.x.Queued.Total()/2, f.x.Queued.Used())
		other.Release()
		timer.Wait(t.Context(), f.x.Clock, quarantineRetry)
		synctest.Wait()
		now, err = f.store.Load(t.Context(), row.ID)
		require.NoError(t, err)
		require.Equal(t, journal.Completed, now.State)
		require.Zero(t, f.x.Queued.Used())
	})
}
