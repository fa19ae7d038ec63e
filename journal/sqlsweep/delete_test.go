package sqlsweep_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/journal"
)

// ended returns a fake with a finished run, the third of its execution, which has so many receipts.
func ended(t *testing.T, superseded uint64, receipts int) (*fake, *fakeRun) {
	f := newFake(t)
	f.add(1, mine, func(r *fakeRun) { r.Superseded = superseded })
	run := f.runs[0]
	f.rows[rowsKey("receipts", run.ID[:])] = times(receipts, 10)
	return f, &run
}

// Receipts go before the run, in transactions of their own if they are many; the link and the row go together.
func TestDeleteWithManyReceipts(t *testing.T) {
	t.Parallel()
	const all = journal.SweepEntries
	for receipts, want := range map[int][]int{
		0: {0}, 1: {1}, all: {all}, all + 1: {all, 1}, 2 * all: {all, all}, 2*all + 500: {all, all, 500},
	} {
		for _, full := range []bool{false, true} {
			f, run := ended(t, 0, receipts)
			f.full = full
			require.NoError(t, f.Delete(t.Context(), f.own[mine], run.ID, run.run, 0))
			require.Empty(t, f.runs)
			require.Zero(t, f.left())
			require.Equal(t, []journal.RunKey{run.key()}, f.links)
			require.Len(t, f.txs, len(want))
			for i, tx := range f.txs {
				last := i == len(want)-1
				require.Equal(t, want[i], tx.rows)
				require.Equal(t, last, tx.linked == 1, "a link in transaction %d of %d", i, len(want))
				require.Equal(t, last, tx.runs == 1, "the run in transaction %d of %d", i, len(want))
			}
		}
	}
}

// Receipts belong to the current run.
func TestDeleteOfASupersededRun(t *testing.T) {
	t.Parallel()
	f, run := ended(t, 2, 5)
	require.NoError(t, f.Delete(t.Context(), f.own[mine], run.ID, run.run, 2))
	require.Empty(t, f.runs)
	require.Equal(t, 5, f.left())
	require.Len(t, f.txs, 1)
}

func TestDeleteOfAnotherRun(t *testing.T) {
	t.Parallel()
	f, run := ended(t, 0, 5)
	was := f.clone()
	for what, err := range map[string]error{
		"number": f.Delete(t.Context(), f.own[mine], run.ID, run.run, 1),
		"run":    f.Delete(t.Context(), f.own[mine], run.ID, journal.RunID{9}, 0),
		"id":     f.Delete(t.Context(), f.own[mine], idIn(mine, 9), run.run, 0),
	} {
		require.ErrorIs(t, err, journal.ErrNotFound, what)
		require.Equal(t, was, f.state, what)
	}
	f.live[run.key()] = true
	was = f.clone()
	require.ErrorIs(t, f.Delete(t.Context(), f.own[mine], run.ID, run.run, 0), journal.ErrNotFound, "it is not over")
	require.Equal(t, was, f.state)
}

func TestDeleteByAnotherOwner(t *testing.T) {
	t.Parallel()
	f, run := ended(t, 0, 5)
	was := f.clone()
	stale := f.own[mine]
	stale.Epoch--
	for what, fence := range map[string]journal.Fence{"none": {}, "stale": stale, "of another shard": f.own[also]} {
		err := f.Delete(t.Context(), fence, run.ID, run.run, 0)
		require.ErrorIs(t, err, journal.ErrFenced, what)
		require.ErrorContains(t, err, run.ID.String(), what)
		require.Equal(t, was, f.state, what)
		require.ErrorIs(t, f.Delete(t.Context(), fence, run.ID, run.run, 7), journal.ErrFenced, "before its number")
	}
}

// Each transaction looks again at the findings of the first one.
func TestDeleteWhenItChangesMeanwhile(t *testing.T) {
	t.Parallel()
	for want, change := range map[error]func(*fake){
		journal.ErrNotFound: func(f *fake) { f.runs[0].Superseded = 1 },
		journal.ErrFenced:   func(f *fake) { f.claim(mine) },
	} {
		f, run := ended(t, 0, 3*journal.SweepEntries)
		f.before = func(tx int) {
			if tx == 1 {
				change(f)
			}
		}
		require.ErrorIs(t, f.Delete(t.Context(), f.own[mine], run.ID, run.run, 0), want)
		require.Len(t, f.txs, 2)
		require.Len(t, f.runs, 1)
		require.Equal(t, 2*journal.SweepEntries, f.left(), "receipts of the first transaction are gone")
		require.Empty(t, f.links)
	}
}
