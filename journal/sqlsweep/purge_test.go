package sqlsweep_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/journal"
)

// purged are the rows that each transaction has deleted.
func (f *fake) purged() (rows []int) {
	for _, tx := range f.txs {
		if tx.rows > 0 {
			rows = append(rows, tx.rows)
		}
	}
	return rows
}

// Rows of runs that are gone go in transactions of bounded size; a run is forgotten behind the last of its rows.
// A fake finds the faults of other orders.
func TestPurgeOfManyRows(t *testing.T) {
	t.Parallel()
	for _, limit := range []int{1, 3, journal.SweepEntries, journal.SweepEntries + 1, 1 << 20} {
		for _, full := range []bool{false, true} {
			f := newFake(t)
			f.full = full
			size := 400
			if limit < 10 {
				size = 4
			}
			f.retire(mine, journal.RunID{1}, times(size, 10)...)
			f.retire(foreign, journal.RunID{2})
			f.retire(also, journal.RunID{}, times(size, 10)...)
			f.retire(also, journal.RunID{3})
			rows := f.left() - 1
			require.Equal(t, 12*size+3, rows)
			for left := rows; left > 0; {
				n := f.do(t, "Purge", limit)
				require.Equal(t, min(limit, left), n, "fewer only if nothing is left")
				left -= n
				require.Equal(t, left, f.left()-1)
			}
			require.Zero(t, f.do(t, "Purge", limit))
			require.Len(t, f.retired, 1, "that of another owner")
			for i, n := range f.purged()[:len(f.purged())-1] {
				require.Equal(t, min(limit, journal.SweepEntries), n, "transaction %d of limit %d", i, limit)
				if limit > journal.SweepEntries {
					break // the last of a call is the remainder of its limit
				}
			}
		}
	}
}

// The row that passes the bound of bytes is the last of its transaction.
func TestPurgeOfLargeRows(t *testing.T) {
	t.Parallel()
	for _, full := range []bool{false, true} {
		f := newFake(t)
		f.full = full
		r := f.retire(mine, journal.RunID{})
		f.rows[rowsKey("entries", r.Run[:])] = times(7, 3*journal.SweepBytes/8) // three pass it
		f.rows[rowsKey("inputs", r.Run[:])] = times(1, 3*journal.SweepBytes)
		f.rows[rowsKey("links", r.Run[:])] = times(2, 0)
		require.Equal(t, 11, f.do(t, "Purge", 100))
		require.Equal(t, []int{3, 3, 4, 1}, f.purged(), "the run goes last")
		require.Zero(t, f.left())
	}
}

// A run that another continues leaves the inbox and the published values to that one.
func TestPurgeLeavesChains(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	r := f.retire(mine, journal.RunID{}, 10, 10)
	chain := journal.Receiver{ID: r.ID, Chain: r.Run}
	f.rows[rowsKey("published", r.Run[:])] = times(1, 10)
	f.rows[inboxKey(chain)] = times(3, 10)
	f.rows[inboxKey(journal.Receiver{ID: r.ID})] = times(1, 10) // like an entity's
	require.Equal(t, 11, f.do(t, "Purge", 100))
	require.Equal(t, 5, f.left())

	r.Chain = r.Run
	f.retired = append(f.retired, r)
	require.Equal(t, 5, f.do(t, "Purge", 100))
	require.Equal(t, 1, f.left())
}

// Runs without rows are many, and each of them is a row.
func TestPurgeOfManyRuns(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	const size = 2*journal.SweepBatch + 50
	for range size {
		f.retire(mine, journal.RunID{1})
	}
	require.Equal(t, 30, f.do(t, "Purge", 30))
	require.Equal(t, size-30, f.do(t, "Purge", 1000))
	for _, tx := range f.txs {
		require.LessOrEqual(t, tx.forgot, journal.SweepBatch)
	}
	require.Empty(t, f.retired)
}

// Runs come first; mail has the remainder of the limit.
func TestPurgeOfRunsAndMail(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.retire(mine, journal.RunID{}, 10) // five tables, and itself
	for range 10 {
		f.addMail(mine, false)
	}
	require.Equal(t, 6, f.do(t, "Purge", 6))
	require.Len(t, f.mail, 10)
	require.Empty(t, f.retired)
	f.retire(mine, journal.RunID{}, 10)
	require.Equal(t, 8, f.do(t, "Purge", 8))
	require.Len(t, f.mail, 8)
	require.Equal(t, 8, f.do(t, "Purge", 100))
}
