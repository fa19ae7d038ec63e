package storetest

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/journal"
)

// fill sends so many messages to an inbox, for which another bound holds, numbered from 1000.
func (b *bundle) fill(t testing.TB, to journal.ID, n, bytesEach int) {
	t.Helper()
	sender := journal.EntityID("default", "bank/Teller", "fills")
	atOnce := 2500
	if bytesEach > 0 {
		atOnce = max(1, min(atOnce, (4<<20)/bytesEach))
	}
	for from := 0; from < n; from += atOnce {
		w := b.entity(sender)
		for i := from; i < min(from+atOnce, n); i++ {
			m := *newMessage(1000 + i)
			m.Value, m.Bytes = make([]byte, bytesEach), bytesEach
			w.Send = append(w.Send, journal.Sent{To: to, Chain: b.receiver(to).Chain, Message: m})
		}
		b.commit(t, w)
	}
}

func testInboxFullByCount(t *testing.T, b *bundle) {
	id, other := b.start(t, newExecution("k")), b.start(t, newExecution("other"))
	b.fill(t, id, journal.MaxInbox-2, 0)
	// The bound is kept within a batch, too.
	results, err := b.store.Commit(b.ctx, []journal.Write{
		b.receive(id, 1), b.receive(id, 2), b.receive(id, 3), b.receive(other, 3), b.receive(id, 1),
	})
	require.NoError(t, err)
	require.NotZero(t, results[0].Position)
	require.NotZero(t, results[1].Position)
	require.ErrorIs(t, results[2].Err, journal.ErrInboxFull)
	require.NotZero(t, results[3].Position)
	require.Equal(t, journal.Result{Existed: true}, results[4], "one that was received is not refused")

	refused := b.receive(id, 4)
	refused.Entries = []journal.Entry{newEntry(1)}
	require.ErrorIs(t, b.result(t, refused).Err, journal.ErrInboxFull)
	require.Empty(t, b.entries(t, id), "nothing of it takes effect")
	take := b.write(id)
	take.Take = []uint64{results[0].Position}
	results, err = b.store.Commit(b.ctx, []journal.Write{b.receive(id, 5), take, b.receive(id, 6), b.receive(id, 7)})
	require.NoError(t, err)
	require.ErrorIs(t, results[0].Err, journal.ErrInboxFull)
	require.NotZero(t, results[2].Position, "there is room again")
	require.ErrorIs(t, results[3].Err, journal.ErrInboxFull)
	b.fill(t, id, journal.MaxInbox, 0)
	envelopes, err := b.store.Inbox(b.ctx, b.receiver(id), 0)
	require.NoError(t, err)
	require.Len(t, envelopes, journal.MaxInbox+2, "another bound holds for what is sent")
}

func testInboxFullByBytes(t *testing.T, b *bundle) {
	id := b.start(t, newExecution("k"))
	const each = 4 << 20
	b.fill(t, id, journal.MaxInboxBytes/each-1, each)
	sized := func(n, bytes int) journal.Write {
		w := b.receive(id, n)
		w.Receive.Value, w.Receive.Bytes = make([]byte, bytes), bytes
		return w
	}
	require.ErrorIs(t, b.result(t, sized(1, each+1)).Err, journal.ErrInboxFull)
	position := b.put(t, sized(1, each))
	require.ErrorIs(t, b.result(t, sized(2, 1)).Err, journal.ErrInboxFull)
	b.put(t, sized(2, 0))
	take := b.write(id)
	take.Take = []uint64{position}
	b.commit(t, take)
	b.put(t, sized(3, each))
}

// testSettledFull has a run be settled with as much as it may, beside a full inbox.
func testSettledFull(t *testing.T, b *bundle) {
	id := b.start(t, newExecution("k"))
	b.fill(t, id, journal.MaxInbox, 0)
	of := journal.SettlementsOf(id, b.write(id).Run)
	settlement := func(n int) *journal.Message {
		return (&journal.Deferred{Name: fmt.Sprint(n), Origin: journal.Origin{1}}).Message()
	}
	w := b.entity(journal.EntityID("default", "bank/Teller", "settles"))
	for n := range journal.MaxSettled - 1 {
		w.Send = append(w.Send, journal.Sent{To: of.ID, Chain: of.Chain, Message: *settlement(n)})
	}
	b.commit(t, w)
	settle := func(n int) journal.Write {
		w := b.write(id)
		w.Receive = settlement(n)
		return w
	}
	results, err := b.store.Commit(b.ctx, []journal.Write{
		settle(journal.MaxSettled), settle(journal.MaxSettled + 1), settle(3),
	})
	require.NoError(t, err)
	require.NotZero(t, results[0].Position)
	require.ErrorIs(t, results[1].Err, journal.ErrInboxFull)
	require.True(t, results[2].Existed, "one that was settled is not refused")
	require.ErrorIs(t, b.result(t, settle(journal.MaxSettled+1)).Err, journal.ErrInboxFull)
}

// testInboxFullBeforeASweep has an execution begin anew whose last run left a full inbox.
func testInboxFullBeforeASweep(t *testing.T, b *bundle) {
	id := b.start(t, newExecution("k"))
	b.fill(t, id, journal.MaxInbox, 0)
	require.ErrorIs(t, b.result(t, b.receive(id, 1)).Err, journal.ErrInboxFull)
	b.finish(t, id, 10)
	for b.exists(t, id) {
		b.sweep(t, 20, 10)
	}
	again := newExecution("k")
	again.Run, again.Chain = journal.RunID{1}, journal.RunID{1}
	w := b.write(id)
	w.Run, w.Start, w.Receive = again.Run, &again, newMessage(1)
	b.put(t, w)
}

func testSendBounded(t *testing.T, b *bundle) {
	to, sender := journal.EntityID("default", "bank/Account", "ada"), journal.EntityID("default", "bank/Teller", "1")
	send := func(w journal.Write, numbers ...int) journal.Write {
		for _, n := range numbers {
			w.Send = append(w.Send, journal.Sent{To: to, Message: *newMessage(n)})
		}
		return w
	}
	const first = 1000 // as fill numbers them
	b.fill(t, to, journal.MaxSentInbox-2, 0)
	// The bound is kept within a batch, and a write that is refused has no effect.
	refused := send(b.entity(sender), 3, 4)
	refused.Receipts = []journal.Receipt{{Origin: originOf(9)}}
	other := b.entity(sender)
	other.Send = []journal.Sent{{To: sender, Message: *newMessage(5)}}
	results, err := b.store.Commit(b.ctx, []journal.Write{
		send(b.entity(sender), 1), refused, other, send(b.entity(sender), 2),
	})
	require.NoError(t, err)
	require.NoError(t, results[0].Err)
	require.ErrorIs(t, results[1].Err, journal.ErrInboxFull)
	require.NoError(t, results[2].Err)
	require.NoError(t, results[3].Err)
	require.False(t, b.hasReceipt(t, sender, 9))
	require.ErrorIs(t, b.result(t, send(b.entity(sender), 3)).Err, journal.ErrInboxFull)
	require.Equal(
		t, journal.Result{}, b.result(t, send(b.entity(sender), 1, 1, first)),
		"those that are there are not sent again",
	)

	// A receiver that takes as much as it sends to itself goes on.
	envelopes, err := b.store.Inbox(b.ctx, b.receiver(to), 0)
	require.NoError(t, err)
	require.Len(t, envelopes, journal.MaxSentInbox)
	own := send(b.entity(to), 3, 4)
	own.Take = []uint64{envelopes[0].Position}
	require.ErrorIs(t, b.result(t, own).Err, journal.ErrInboxFull)
	own.Take = append(own.Take, envelopes[1].Position)
	b.commit(t, own)
	require.ErrorIs(t, b.result(t, send(b.entity(sender), first, 7)).Err, journal.ErrInboxFull, "that was taken")
}

func testSendBoundedByBytes(t *testing.T, b *bundle) {
	to, sender := journal.EntityID("default", "bank/Account", "ada"), journal.EntityID("default", "bank/Teller", "1")
	const each = 4 << 20
	b.fill(t, to, journal.MaxSentInboxBytes/each-1, each)
	send := func(n, bytes int) journal.Write {
		m := *newMessage(n)
		m.Value, m.Bytes = make([]byte, bytes), bytes
		w := b.entity(sender)
		w.Send = []journal.Sent{{To: to, Message: m}}
		return w
	}
	require.ErrorIs(t, b.result(t, send(1, each+1)).Err, journal.ErrInboxFull)
	b.commit(t, send(1, each))
	require.ErrorIs(t, b.result(t, send(2, 1)).Err, journal.ErrInboxFull)
	b.commit(t, send(2, 0))
}
