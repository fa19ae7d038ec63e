package execution

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/journal"
)

// TestTerminateBreaksOffATurn ends an execution whose code never returns, in a turn ahead of its start, in
// its first turn, and when it is loaded: it waits for none of them.
func TestTerminateBreaksOffATurn(t *testing.T) {
	t.Parallel()
	none := func(*fixture) {}
	for name, tc := range map[string]struct{ before, after func(f *fixture) }{
		"ahead of its start": {none, none},
		"in its first turn":  {func(f *fixture) { f.x.NoHeadStarts = true }, none},
		"while it is loaded": {none, func(f *fixture) {
			f.end()
			synctest.Wait()
			f.takeNotes()
			f.boot()
			turns := f.endless()
			f.x.EnsureInMemory(rowOf("w", "k").ID)
			synctest.Wait()
			require.EqualValues(f.t, 1, turns.Load())
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t)
				tc.before(f)
				crashes, turns := f.countCrashes(), f.endless()
				row := rowOf("w", "k")
				_, err := f.x.Start(t.Context(), row, nil)
				require.NoError(t, err)
				synctest.Wait()
				require.EqualValues(t, 1, turns.Load())
				tc.after(f)
				synctest.Wait()
				begun := time.Now()
				require.NoError(t, f.x.Terminate(t.Context(), RefTo(row), "enough"))
				require.Equal(t, breakOffEvery, time.Since(begun), "and not the time that a turn may take")
				synctest.Wait()
				require.Zero(t, crashes.Load())
				require.Contains(t, f.takeNotes(), "watchers are told: interrupted CR-2046: enough")
				require.Zero(t, f.x.Memory.Used())
				over, err := f.x.Load(t.Context(), RefTo(row))
				require.NoError(t, err)
				require.Equal(t, journal.Interrupted, over.State)
			})
		})
	}
}
