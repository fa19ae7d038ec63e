package execution

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/execution/request"
	"github.com/cruster/cruster/host/message"
	"github.com/cruster/cruster/journal"
)

// manySignals is how many signals a test sends that no workflow receives, and leastCost the least that each costs.
const manySignals, leastCost = 200, 256

// withManySignals is an execution in memory whose inbox has many signals.
func (f *fixture) withManySignals(t *testing.T) *journal.Execution {
	f.scripts["w"] = []string{"receive go", "done ok"}
	row := rowOf("w", "k")
	_, err := f.x.Starter.Start(t.Context(), row, nil)
	require.NoError(t, err)
	synctest.Wait()
	require.Zero(t, f.x.Queued.Used())
	for i := range manySignals {
		f.signal(t, row, fmt.Sprint("other", i%2))
	}
	synctest.Wait()
	return row
}

func (f *fixture) signal(t *testing.T, row *journal.Execution, name string) {
	s := message.Signal{Name: name, Value: abi.Nil}
	require.NoError(t, f.x.Messages.Signal(t.Context(), request.RefTo(row), s))
}

// leave has an execution leave memory.
func (f *fixture) leave(t *testing.T, row *journal.Execution) {
	f.x.evictor.evict(row.ID)
	synctest.Wait()
	require.False(t, f.x.InMemory(row.ID))
}

func (f *fixture) stateOf(t *testing.T, row *journal.Execution) journal.State {
	found, err := f.store.Load(t.Context(), row.ID)
	require.NoError(t, err)
	return found.State
}

// TestInboxesArePaidFor: an execution in memory pays for the messages of its inbox, as they arrive and when it is
// loaded, and gives that back when it leaves and when it ends.
func TestInboxesArePaidFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		row := f.withManySignals(t)
		require.Greater(t, f.x.Queued.Used(), int64(manySignals*leastCost), "as they arrive")
		f.leave(t, row)
		require.Zero(t, f.x.Queued.Used())
		f.signal(t, row, "other")
		synctest.Wait()
		require.True(t, f.x.InMemory(row.ID))
		require.Greater(t, f.x.Queued.Used(), int64(manySignals*leastCost), "as it is loaded")
		f.signal(t, row, "go")
		synctest.Wait()
		require.Equal(t, journal.Completed, f.stateOf(t, row))
		require.Zero(t, f.x.Queued.Used())
	})
}

// TestInboxesWaitForTheirMemory: an execution whose inbox is large is not loaded while there is no memory for that. It
// goes on once there is, and after a while in any case: it must be able to take messages to become smaller.
func TestInboxesWaitForTheirMemory(t *testing.T) {
	t.Parallel()
	for name, released := range map[string]bool{"released": true, "held": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t)
				row := f.withManySignals(t)
				f.leave(t, row)
				others, ok := f.x.Queued.TryAcquire(f.x.Queued.Total())
				require.True(t, ok)
				defer others.Release()
				f.signal(t, row, "go")
				time.Sleep(2 * time.Second)
				synctest.Wait()
				require.Equal(t, journal.Running, f.stateOf(t, row))
				if released {
					others.Release()
					time.Sleep(time.Second)
				} else {
					time.Sleep(20 * time.Second)
				}
				synctest.Wait()
				require.Equal(t, journal.Completed, f.stateOf(t, row))
			})
		})
	}
}

// TestInboxesThatDoNotPayLeave: an execution that messages come to while there is no memory for them leaves memory as
// soon as it only waits.
func TestInboxesThatDoNotPayLeave(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		others, ok := f.x.Queued.TryAcquire(f.x.Queued.Total())
		require.True(t, ok)
		f.scripts["w"] = []string{"receive go", "done ok"}
		row := rowOf("w", "k")
		_, err := f.x.Starter.Start(t.Context(), row, nil)
		require.NoError(t, err)
		synctest.Wait()
		require.True(t, f.x.InMemory(row.ID))
		for range manySignals {
			f.signal(t, row, "other")
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		require.False(t, f.x.InMemory(row.ID))
		others.Release()
		f.signal(t, row, "go")
		synctest.Wait()
		require.Equal(t, journal.Completed, f.stateOf(t, row))
	})
}
