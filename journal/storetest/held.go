package storetest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/journal"
)

// held tells which messages of an execution are held, by their numbers.
func (b *bundle) held(t testing.TB, id journal.ID) map[int]bool {
	t.Helper()
	held := map[int]bool{}
	for _, m := range b.inbox(t, id) {
		held[int(m.At)] = m.Held
	}
	return held
}

func testHold(t *testing.T, b *bundle) {
	id := b.start(t, newExecution("k"))
	first, second := b.put(t, b.receive(id, 1)), b.put(t, b.receive(id, 2))
	w := b.write(id)
	w.Hold, w.Entries = []uint64{second}, []journal.Entry{newEntry(1)}
	b.commit(t, w)
	require.Equal(t, map[int]bool{1: false, 2: true}, b.held(t, id))
	one, err := b.store.Message(b.ctx, b.receiver(id), second)
	require.NoError(t, err)
	require.True(t, one.Held)
	require.Equal(t, journal.Result{Existed: true}, b.result(t, b.receive(id, 2)), "it is there all the same")

	// Held again, or twice in one write, it is unchanged.
	w = b.write(id)
	w.Hold = []uint64{second, second, first}
	b.commit(t, w)
	require.Equal(t, map[int]bool{1: true, 2: true}, b.held(t, id))
	// It stays until it is taken.
	w = b.write(id)
	w.Take, w.Receipts = []uint64{second}, []journal.Receipt{{Origin: originOf(2), At: 1}}
	b.commit(t, w)
	require.Equal(t, map[int]bool{1: true}, b.held(t, id))
}

func testHoldMissing(t *testing.T, b *bundle) {
	id, other := b.start(t, newExecution("k")), b.start(t, newExecution("other"))
	position := b.put(t, b.receive(id, 1))
	hold := func(of journal.ID, positions ...uint64) journal.Write {
		w := b.write(of)
		w.Hold, w.Entries = positions, []journal.Entry{newEntry(1)}
		return w
	}
	gone := hold(id, position)
	gone.Take = []uint64{position}
	results, err := b.store.Commit(b.ctx, []journal.Write{
		hold(other, position), hold(id, position, position+1000), gone, b.receive(other, 5), hold(id, position),
	})
	require.NoError(t, err)
	for i := range 3 {
		require.Error(t, results[i].Err)
	}
	require.NotZero(t, results[3].Position)
	require.Equal(t, journal.Result{}, results[4])
	require.Equal(t, map[int]bool{1: true}, b.held(t, id))
	require.Len(t, b.entries(t, id), 1)
	require.Empty(t, b.entries(t, other), "nothing of it takes effect")
}

// testHoldInABatch holds and takes a message in one batch.
func testHoldInABatch(t *testing.T, b *bundle) {
	id := b.start(t, newExecution("k"))
	position := b.put(t, b.receive(id, 1))
	hold, take := b.write(id), b.write(id)
	hold.Hold, take.Take = []uint64{position}, []uint64{position}
	results, err := b.store.Commit(b.ctx, []journal.Write{hold, take, hold})
	require.NoError(t, err)
	require.Equal(t, journal.Result{}, results[0])
	require.Equal(t, journal.Result{}, results[1])
	require.Error(t, results[2].Err)
	require.Empty(t, b.inbox(t, id))
}

// testReceiptThere has a receipt that is there fail its own write, and no other.
func testReceiptThere(t *testing.T, b *bundle) {
	id, other := b.start(t, newExecution("k")), b.start(t, newExecution("other"))
	first := b.write(id)
	first.Receipts = []journal.Receipt{{Origin: originOf(2), At: 1}}
	b.commit(t, first)
	position := b.put(t, b.receive(id, 1))
	twice := b.write(id)
	twice.Take, twice.Entries = []uint64{position}, []journal.Entry{newEntry(1)}
	twice.Receipts = []journal.Receipt{{Origin: originOf(1)}, {Origin: originOf(3)}, {Origin: originOf(2)}}
	results, err := b.store.Commit(b.ctx, []journal.Write{b.receive(other, 1), twice, b.receive(other, 2)})
	require.NoError(t, err)
	require.NotZero(t, results[0].Position)
	require.Error(t, results[1].Err)
	require.NotZero(t, results[2].Position)
	require.Empty(t, b.entries(t, id))
	require.Equal(t, []int{1}, b.numbers(t, id))
	require.False(t, b.hasReceipt(t, id, 1))
	require.False(t, b.hasReceipt(t, id, 3))
	twice.Receipts = twice.Receipts[:2]
	b.commit(t, twice)
}

// testStartWithMessages starts an execution that has messages from the start, and some of them
// were delivered to the journal that it takes over.
func testStartWithMessages(t *testing.T, b *bundle) {
	e := newExecution("k")
	w := b.write(e.ID)
	w.Start, w.Entries = &e, []journal.Entry{newEntry(1)}
	for n := range 3 {
		sent := journal.Sent{To: e.ID, Message: *newMessage(n)}
		sent.Held = n == 0
		w.Send = append(w.Send, sent)
	}
	require.Equal(t, journal.Result{}, b.result(t, w))
	require.Equal(t, map[int]bool{0: true, 1: false, 2: false}, b.held(t, e.ID))
	require.Equal(t, []int{0, 1, 2}, b.numbers(t, e.ID))

	w.Send[0].Origin = originOf(7)
	require.True(t, b.result(t, w).Existed)
	require.Len(t, b.inbox(t, e.ID), 3, "nothing of it took effect")

	other := newExecution("other")
	w = b.write(other.ID)
	w.Start, w.Send = &other, []journal.Sent{{To: e.ID, Message: *newMessage(8)}}
	w.Send[0].Held = true
	require.Error(t, b.result(t, w).Err, "only what is the execution's own")
	received := b.receive(e.ID, 9)
	received.Receive.Held = true
	require.Error(t, b.result(t, received).Err)
	require.Len(t, b.inbox(t, e.ID), 3)
}
