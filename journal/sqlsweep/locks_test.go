package sqlsweep_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/journal"
)

// Locks that others have taken meanwhile do not count; the sweep goes on to others, and looks at none twice.
func TestLocksThatAreTakenMeanwhile(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	const size = 3 * journal.SweepBatch
	for i := range size {
		if id := f.addLock(mine, i%3 == 1); i < 10 {
			f.taken[id] = true
		}
	}
	require.Equal(t, 20, f.do(t, "SweepLocks", 20))
	require.Len(t, f.locks, size-20)
	require.Equal(t, 2*size/3-20-7, f.do(t, "SweepLocks", size), "all but those that are held or taken")
	require.Zero(t, f.do(t, "SweepLocks", 1), "also if none can be deleted")
	clear(f.taken)
	require.Equal(t, 7, f.do(t, "SweepLocks", size))
}

func TestLocksThatAreHeldStay(t *testing.T) {
	t.Parallel()
	for _, limit := range []int{1, 7, journal.SweepBatch, 1000} {
		f := newFake(t)
		for _, s := range []journal.Shard{mine, foreign, also} {
			for i := range 150 {
				f.addLock(s, i%2 == 0)
			}
		}
		n := 0
		for range 150 {
			n += f.do(t, "SweepLocks", limit)
		}
		require.Equal(t, 150, n)
		require.Len(t, f.locks, 300)
		for _, l := range f.locks {
			require.True(t, l.Held || l.Entity.Shard() == foreign, "%v", l)
		}
	}
}
