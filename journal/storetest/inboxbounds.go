package storetest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/journal"
)

// fill sends so many messages to an inbox, for which no bound holds, numbered from 1000.
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
			w.Send = append(w.Send, journal.Sent{To: to, Message: m})
		}
		b.commit(t, w)
	}
}

func testInboxFullByCount(t *testing.T, b *bundle) {
	id, other := b.start(t, newExecution("k")), b.start(t, newExecution("other"))
	b.fill(t, id, journal.MaxInbox-2, 0)
	// The bound is kept within a batch, too.
	results, err := b.store.Commit(b.ctx, []journal.Write{b.receive(id, 1), b.receive(id, 2), b.receive(id, 3), b.receive(other, 3), b.receive(id, 1)})
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
	envelopes, err := b.store.Inbox(b.ctx, id, 0)
	require.NoError(t, err)
	require.Len(t, envelopes, journal.MaxInbox+2, "no bound holds for what is sent")
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

// testInboxFullBeforeASweep has an execution begin anew whose last run left a full inbox.
func testInboxFullBeforeASweep(t *testing.T, b *bundle) {
	id := b.start(t, newExecution("k"))
	b.fill(t, id, journal.MaxInbox, 0)
	require.ErrorIs(t, b.result(t, b.receive(id, 1)).Err, journal.ErrInboxFull)
	b.finish(t, id, 10)
	for b.exists(t, id) {
		b.sweep(t, 20, 10)
	}
	again := b.start(t, newExecution("k"))
	require.Equal(t, id, again)
	b.put(t, b.receive(again, 1))
}
