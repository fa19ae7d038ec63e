package storetest

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

var receiptTests = []test{
	{"SweptUpToALimit", nil, testSweepReceipts},
	{"KeptForTheLiving", nil, testSweepReceiptsLiving},
	{"PassesOverWhatIsKept", nil, testSweepReceiptsPassesOver},
	{"StaleOwnerSweepsNothing", nil, testSweepReceiptsStale},
	{"AgainstEnds", nil, testSweepReceiptsAgainstEnds},
	{"SweptWithTheExecution", nil, testSweepInbox},
	{"LongInboxes", nil, testSweepLongInbox},
	{"ReadTogether", nil, testReadReceipts},
}

func (b *bundle) sweepReceipts(t testing.TB, before int64, limit int) int {
	t.Helper()
	n, err := b.store.SweepReceipts(b.ctx, b.fences, before, limit)
	require.NoError(t, err)
	return n
}

func (b *bundle) hasReceipt(t testing.TB, id journal.ID, n int) bool {
	t.Helper()
	_, err := b.store.Receipt(b.ctx, id, originOf(n))
	if err != nil {
		require.ErrorIs(t, err, journal.ErrNotFound)
	}
	return err == nil
}

// testReadReceipts reads several at once: the existing ones of one receiver.
func testReadReceipts(t *testing.T, b *bundle) {
	ada, bob := journal.EntityID("default", "bank/Account", "ada"), journal.EntityID("default", "bank/Account", "bob")
	kept := []journal.Receipt{
		{Origin: originOf(1), At: 10, Value: []byte{1}},
		{Origin: originOf(2), At: 20, Error: &abi.Error{Code: abi.CodeOperationFailed, Message: "no"}},
		{
			Origin: originOf(3),
			At:     30,
			Value:  []byte{3},
			From:   journal.Caller{ID: journal.ID{1}, Run: journal.RunID{2}, Step: journal.StepID{3}},
		},
	}
	w := b.entity(ada)
	w.Receipts = kept
	b.commit(t, w)
	w = b.entity(bob)
	w.Receipts = []journal.Receipt{{Origin: originOf(4), At: 40, Value: []byte{4}}}
	b.commit(t, w)
	found, err := b.store.Receipts(b.ctx, ada, []journal.Origin{
		originOf(3), originOf(4), originOf(1), originOf(5), originOf(2),
	})
	require.NoError(t, err)
	require.ElementsMatch(t, kept, found)
	for _, none := range [][]journal.Origin{nil, {originOf(4)}} {
		found, err = b.store.Receipts(b.ctx, ada, none)
		require.NoError(t, err)
		require.Empty(t, found)
	}
}

func testSweepReceipts(t *testing.T, b *bundle) {
	ada := journal.EntityID("default", "bank/Account", "ada")
	id := b.start(t, newExecution("k"))
	for n, at := range []int64{30, -10, 10, 20, 0} {
		for _, w := range []journal.Write{b.entity(ada), b.write(id)} {
			w.Receipts = []journal.Receipt{{Origin: originOf(n), At: at, Value: []byte{1}}}
			b.commit(t, w)
		}
	}
	require.Equal(t, 2, b.sweepReceipts(t, 20, 2))
	require.Zero(t, b.sweepReceipts(t, 20, 0))
	require.Zero(t, b.sweepReceipts(t, 20, -1))
	require.Equal(t, 4, b.sweepReceipts(t, 20, 100), "left before, not at")
	for n, kept := range []bool{true, false, false, true, false} {
		require.Equal(t, kept, b.hasReceipt(t, ada, n), n)
		require.Equal(t, kept, b.hasReceipt(t, id, n), n)
	}
	require.Zero(t, b.sweepReceipts(t, 20, 100))
	w := b.entity(ada)
	w.Receive = newMessage(1)
	b.put(t, w) // it is not known any more
	require.Equal(t, 4, b.sweepReceipts(t, journal.Never, 100))
}

// testSweepReceiptsLiving keeps the receipts that a step of a live run may ask for.
func testSweepReceiptsLiving(t *testing.T, b *bundle) {
	ada := journal.EntityID("default", "bank/Account", "ada")
	running, paused, over := b.start(
		t, newExecution("running"),
	), newExecution("paused"), b.start(t, newExecution("over"))
	paused.State = journal.Paused
	b.start(t, paused)
	b.finish(t, over, 5)
	earlier := callerOf(running, 1)
	earlier.Run[0] ^= 1
	w := b.entity(ada)
	w.Receipts = []journal.Receipt{
		{Origin: originOf(0), At: 1, From: callerOf(running, 1)},
		{Origin: originOf(1), At: 2, From: callerOf(paused.ID, 1)},
		{Origin: originOf(2), At: 3, From: callerOf(over, 1)},
		{Origin: originOf(3), At: 4, From: earlier},
		{Origin: originOf(4), At: 5, From: callerOf(newExecution("gone").ID, 1)},
		{Origin: originOf(5), At: 6},
		{Origin: originOf(6), At: 7, From: callerOf(running, 2)},
	}
	b.commit(t, w)
	require.Equal(t, 4, b.sweepReceipts(t, 100, 100))
	require.Zero(t, b.sweepReceipts(t, 100, 100))
	for n, kept := range []bool{true, true, false, false, false, false, true} {
		require.Equal(t, kept, b.hasReceipt(t, ada, n), n)
	}
	got, err := b.store.Receipt(b.ctx, ada, originOf(6))
	require.NoError(t, err)
	require.Equal(t, &w.Receipts[6], got, "they are what they were")

	// A finished run holds nothing, and its former holds do not keep retention from it.
	b.finish(t, running, 5)
	require.Equal(t, 1, b.sweepReceipts(t, 7, 100))
	require.Equal(t, 2, b.sweep(t, 100, 100))
	require.Equal(t, 1, b.sweepReceipts(t, 100, 100))
	require.True(t, b.hasReceipt(t, ada, 1))
	b.finish(t, paused.ID, 5)
	require.Equal(t, 1, b.sweepReceipts(t, 100, 100))
}

// More than one page of rows that must be kept lies in front of rows that may be deleted.
func testSweepReceiptsPassesOver(t *testing.T, b *bundle) {
	ada, sender := journal.EntityID("default", "bank/Account", "ada"), b.start(t, newExecution("sender"))
	const kept = 2*journal.SweepBatch + 10
	w := b.entity(ada)
	for n := range kept + 3 {
		r := journal.Receipt{Origin: originOf(n), At: int64(n)}
		if n < kept {
			r.From = callerOf(sender, uint32(n))
		}
		w.Receipts = append(w.Receipts, r)
	}
	b.commit(t, w)
	require.Equal(t, 2, b.sweepReceipts(t, 100_000, 2), "behind what is kept")
	require.Equal(t, 1, b.sweepReceipts(t, 100_000, 2))
	require.Zero(t, b.sweepReceipts(t, 100_000, 2))
	b.finish(t, sender, 9)
	require.Equal(t, kept, b.sweepReceipts(t, 100_000, 10*kept), "the sender is over")
	require.False(t, b.hasReceipt(t, ada, 0))
	require.Equal(t, 1, b.sweep(t, 100_000, 100), "it holds nothing any more")
}

func testSweepReceiptsStale(t *testing.T, b *bundle) {
	ada := journal.EntityID("default", "bank/Account", "ada")
	w := b.entity(ada)
	w.Receipts = []journal.Receipt{{Origin: originOf(1), At: 1}}
	b.commit(t, w)
	old := b.fences
	b.claim(t, "second")
	for _, own := range [][]journal.Fence{old, nil, b.fences[1:]} {
		_, err := b.store.SweepReceipts(b.ctx, own, 100, 100)
		require.ErrorIs(t, err, journal.ErrFenced)
	}
	require.True(t, b.hasReceipt(t, ada, 1))
	require.Equal(t, 1, b.sweepReceipts(t, 100, 100))
}

// Sweeps run while senders end: whatever the timing, nothing is held for ever.
func testSweepReceiptsAgainstEnds(t *testing.T, b *bundle) {
	const senders = 40
	ada := journal.EntityID("default", "bank/Account", "ada")
	w := b.entity(ada)
	var ids []journal.ID
	for i := range senders {
		id := b.start(t, newExecution(fmt.Sprint(i)))
		ids = append(ids, id)
		for n := range 3 {
			w.Receipts = append(w.Receipts, journal.Receipt{
				Origin: originOf(3*i + n), At: int64(i), From: callerOf(id, uint32(n)),
			})
		}
	}
	b.commit(t, w)
	var group errgroup.Group
	over := make(chan struct{})
	swept := 0
	group.Go(func() error {
		for {
			n, err := b.store.SweepReceipts(b.ctx, b.fences, 1000, 7)
			if err != nil && !errors.Is(err, journal.ErrConflict) {
				return err
			}
			swept += n
			select {
			case <-over:
				return nil
			default:
			}
		}
	})
	for _, id := range ids {
		b.finish(t, id, 500)
	}
	close(over)
	require.NoError(t, group.Wait())
	swept += b.sweepReceipts(t, 1000, 10*senders)
	require.Equal(t, 3*senders, swept)
	require.Equal(t, senders, b.sweep(t, 1000, 10*senders))
}

// testSweepInbox deletes the messages sent to an execution along with it.
func testSweepInbox(t *testing.T, b *bundle) {
	e, other := newExecution("k"), b.start(t, newExecution("other"))
	b.start(t, e)
	for _, id := range []journal.ID{e.ID, other} {
		w := b.receive(id, 1)
		w.Receipts = []journal.Receipt{{Origin: originOf(2), At: 1}}
		b.put(t, w)
	}
	b.finish(t, e.ID, 5)
	require.Equal(t, 1, b.sweep(t, 6, 10))
	b.purge(t)
	require.Empty(t, b.inboxOf(t, e.Receiver()))
	require.False(t, b.hasReceipt(t, e.ID, 2))
	require.Equal(t, []int{1}, b.numbers(t, other))
	require.True(t, b.hasReceipt(t, other, 2))

	// A run that starts under the name finds nothing of it.
	e.Run, e.Chain = journal.RunID{1}, journal.RunID{1}
	w := b.write(e.ID)
	w.Run, w.Start, w.Receive = e.Run, &e, newMessage(2)
	b.put(t, w)
	require.Equal(t, []int{2}, b.numbers(t, e.ID))
}

// An inbox and receipts that are more than a transaction deletes go in pieces, and whole.
func testSweepLongInbox(t *testing.T, b *bundle) {
	var ids []journal.ID
	for i, n := range []int{3, journal.SweepEntries + 5, 2} {
		id := b.start(t, newExecution(fmt.Sprint(i)))
		b.fill(t, id, n, 10)
		w := b.write(id)
		for k := range n {
			w.Receipts = append(w.Receipts, journal.Receipt{Origin: originOf(k), At: 1})
			w.Entries = append(w.Entries, newEntry(uint64(k+1)))
		}
		b.commit(t, w)
		b.finish(t, id, int64(10+i))
		ids = append(ids, id)
	}
	large := b.start(t, newExecution("large"))
	b.fill(t, large, 5, journal.SweepBytes/2)
	b.finish(t, large, 20)
	receivers := map[journal.ID]journal.Receiver{}
	for _, id := range append(ids, large) {
		receivers[id] = b.receiver(id)
	}
	require.Equal(t, 4, b.sweep(t, 1000, 100))
	b.purge(t)
	for _, id := range append(ids, large) {
		require.False(t, b.exists(t, id))
		require.Empty(t, b.entries(t, id))
		require.Empty(t, b.inboxOf(t, receivers[id]))
		require.False(t, b.hasReceipt(t, id, 1))
	}
}
