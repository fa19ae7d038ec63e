package sqlsweep_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/journal"
)

// deleted are the pieces of receipts that were deleted, by transaction.
func (f *fake) deleted() (pieces [][]int) {
	for _, tx := range f.txs {
		if len(tx.pieces) > 0 {
			pieces = append(pieces, tx.pieces)
		}
	}
	return pieces
}

// Receipts are deleted by ranges: none of another owner's may stand within one.
func TestReceiptsOfOthersDivideAPage(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	sender := journal.Caller{ID: idIn(also, 1<<20), Run: runIn(also, 1<<20).Run}
	f.live[journal.KeyOf(sender.ID, sender.Run)] = true
	live := func(r *fakeReceipt) { r.from = sender }
	f.addReceipt(1, foreign)
	f.addReceipt(2, mine)
	f.addReceipt(3, also)
	f.addReceipt(4, foreign, live)
	f.addReceipt(5, mine)
	f.addReceipt(6, mine, live)
	f.addReceipt(7, also)
	f.addReceipt(8, foreign)
	f.addReceipt(9, foreign)
	f.addReceipt(10, mine, live)
	f.addReceipt(11, foreign)
	f.addReceipt(12, mine)
	require.Equal(t, 5, f.do(t, "SweepReceipts", 100))
	require.Equal(t, [][]int{{2, 2, 1}}, f.deleted())
	var left []int64
	for _, r := range f.receipts {
		left = append(left, r.At)
		require.Equal(t, r.At == 6 || r.At == 10, r.held, "those of live runs are held: %v", r)
	}
	require.Equal(t, []int64{1, 4, 6, 8, 9, 10, 11}, left)
	delete(f.live, journal.KeyOf(sender.ID, sender.Run))
	require.Equal(t, 2, f.do(t, "SweepReceipts", 100), "those that the sender has held")
}

// A transaction ends behind the receipt that passes its bytes, also of another owner; the next goes on there.
func TestReceiptsWithManyBytes(t *testing.T) {
	t.Parallel()
	large := func(r *fakeReceipt) { r.bytes = journal.SweepBytes / 4 }
	f := newFake(t)
	for range 10 {
		f.addReceipt(1, mine, large)
	}
	require.Equal(t, 10, f.do(t, "SweepReceipts", 100))
	require.Equal(t, [][]int{{4}, {4}, {2}}, f.deleted())

	f = newFake(t)
	for at := range int64(10) {
		f.addReceipt(at, mine, large)
		f.addReceipt(at, foreign, large)
	}
	require.Equal(t, 10, f.do(t, "SweepReceipts", 100))
	require.Len(t, f.receipts, 10)

	f = newFake(t)
	for range 3 {
		f.addReceipt(1, mine, func(r *fakeReceipt) { r.bytes = 3 * journal.SweepBytes })
	}
	require.Equal(t, 3, f.do(t, "SweepReceipts", 3))
	require.Equal(t, [][]int{{1}, {1}, {1}}, f.deleted())
}

// A receipt of the time before which they go is too young.
func TestReceiptsOfATime(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	for at := range int64(5) {
		f.addReceipt(at-2, mine)
	}
	n, err := f.SweepReceipts(t.Context(), f.own, 1, 100)
	require.NoError(t, err)
	require.Equal(t, 3, n, "also those from before 1970")
	require.Len(t, f.receipts, 2)
}
