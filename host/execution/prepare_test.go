package execution

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// TestPrepare: an execution that is prepared has its instance before its time, and is delivered nothing before. Where
// memory is short it has it when its time has come.
func TestPrepare(t *testing.T) {
	t.Parallel()
	for name, short := range map[string]bool{"Prepared": false, "MemoryIsShort": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				sleep := step{{abi.OpSleep, abi.MustMarshal(&abi.Sleep{Duration: int64(time.Hour)})}}
				w := &world{code: threads{{sleep}}, begun: map[journal.Caller]int{}}
				w.f = newFixtureOf(t, w.open, w)
				row := rowOf("w", "k")
				_, err := w.f.x.Starter.Start(t.Context(), row, nil)
				require.NoError(t, err)
				synctest.Wait()
				require.True(t, w.f.x.evictor.evict(row.ID))
				synctest.Wait()
				require.False(t, w.f.x.InMemory(row.ID))
				if short {
					permit, err := w.f.x.Memory.Acquire(t.Context(), 60)
					require.NoError(t, err)
					defer permit.Release()
				}
				w.f.x.Prepare(row.ID)
				synctest.Wait()
				require.Equal(t, !short, w.f.x.InMemory(row.ID))
				require.Len(t, w.instances, map[bool]int{false: 2, true: 1}[short])

				w.f.x.Wake(row.ID)
				synctest.Wait()
				require.True(t, w.f.x.InMemory(row.ID))
				time.Sleep(time.Hour)
				synctest.Wait()
				done, err := w.f.store.Load(t.Context(), row.ID)
				require.NoError(t, err)
				require.Equal(t, journal.Completed, done.State)
				require.Len(t, w.instances, 2, "one is enough")
				require.Empty(t, w.faults)
			})
		})
	}
}
