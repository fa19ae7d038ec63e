package storetest

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/journal"
)

func testSend(t *testing.T, b *bundle) {
	sender, ada, bob := journal.EntityID("default", "bank/Teller", "1"), journal.EntityID(
		"default", "bank/Account", "ada",
	), journal.EntityID("default", "bank/Account", "bob")
	send := func(w journal.Write, to journal.ID, numbers ...int) journal.Write {
		for _, n := range numbers {
			w.Send = append(w.Send, journal.Sent{To: to, Message: *newMessage(n)})
		}
		return w
	}
	w := send(send(send(b.entity(sender), ada, 3, 1), bob, 1), ada, 2)
	w = send(w, sender, 5) // to itself
	w.Send[0].From, w.Send[0].Repeatable = callerOf(ada, 1), true
	require.Equal(t, journal.Result{}, b.result(t, w))
	require.Equal(t, []int{3, 1, 2}, b.numbers(t, ada))
	require.Equal(t, []int{1}, b.numbers(t, bob))
	require.Equal(t, []int{5}, b.numbers(t, sender))
	first := b.inbox(t, ada)[0]
	want := w.Send[0].Message
	want.Position = first.Position
	require.Equal(t, want, first)

	// One of an origin that is known is passed over, and matters to nothing else.
	take := b.entity(ada)
	take.Take, take.Receipts = []uint64{first.Position}, []journal.Receipt{{Origin: originOf(3)}}
	b.commit(t, take)
	w = send(b.entity(sender), ada, 3, 1, 4, 4)
	w.Receipts = []journal.Receipt{{Origin: originOf(8)}}
	require.Equal(t, journal.Result{}, b.result(t, w))
	require.Equal(t, []int{1, 2, 4}, b.numbers(t, ada))
	_, err := b.store.Receipt(b.ctx, sender, originOf(8))
	require.NoError(t, err)

	// It comes with all the rest of a write, of an execution too.
	id := b.start(t, newExecution("k"))
	w = send(b.write(id), bob, 6)
	w.Entries = []journal.Entry{newEntry(1)}
	b.commit(t, w)
	w = send(b.write(id), bob, 7)
	w.Entries = []journal.Entry{newEntry(1)} // that is taken
	require.Error(t, b.result(t, w).Err)
	require.Equal(t, []int{1, 6}, b.numbers(t, bob))
}

// Messages of a batch are in its order, also from different senders.
func testSendInABatch(t *testing.T, b *bundle) {
	to := journal.EntityID("default", "bank/Account", "ada")
	var writes []journal.Write
	var want []int
	for n := range 20 {
		w := b.entity(journal.EntityID("default", "bank/Teller", fmt.Sprint(n)))
		if n%3 == 0 {
			w = b.entity(to)
			w.Receive = newMessage(n)
		} else {
			w.Send = []journal.Sent{{To: to, Message: *newMessage(n)}}
		}
		writes, want = append(writes, w), append(want, n)
	}
	results, err := b.store.Commit(b.ctx, writes)
	require.NoError(t, err)
	for _, r := range results {
		require.NoError(t, r.Err)
	}
	require.Equal(t, want, b.numbers(t, to))

	// Also if one of them is known, so that they decide about each other.
	results, err = b.store.Commit(b.ctx, append(writes[:4:4], func() journal.Write {
		w := b.entity(to)
		w.Receive = newMessage(20)
		w.Send = []journal.Sent{{To: to, Message: *newMessage(21)}, {To: to, Message: *newMessage(20)}}
		return w
	}()))
	require.NoError(t, err)
	require.Equal(t, journal.Result{Existed: true}, results[0])
	require.Equal(t, journal.Result{}, results[1])
	require.NotZero(t, results[4].Position)
	require.Equal(t, append(want, 20, 21), b.numbers(t, to))
}
