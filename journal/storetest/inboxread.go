package storetest

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

func testMessagesPaged(t *testing.T, b *bundle) {
	id := b.start(t, newExecution("k"))
	sizes := []int{10, 700 << 10, 700 << 10, abi.MaxPayload, 0, 20, 500 << 10, 500 << 10}
	var positions []uint64
	for i, size := range sizes {
		w := b.receive(id, i)
		w.Receive.Value, w.Receive.Bytes = bytes.Repeat([]byte{byte(i)}, size), size
		positions = append(positions, b.put(t, w))
	}
	pages := func(limit journal.PageLimit) (lengths []int) {
		after, read := uint64(0), 0
		for more := true; more; {
			page, behind, err := b.store.Messages(b.ctx, b.receiver(id), after, limit)
			require.NoError(t, err)
			for _, m := range page {
				require.Equal(t, positions[read], m.Position)
				require.Len(t, m.Value, sizes[read])
				after = m.Position
				read++
			}
			lengths, more = append(lengths, len(page)), behind
		}
		require.Len(t, positions, read)
		return lengths
	}
	require.Equal(t, []int{2, 1, 1, 4}, pages(journal.PageLimit{}), "a MiB each, or one message")
	require.Equal(t, []int{1, 1, 1, 1, 2, 1, 1}, pages(journal.PageLimit{Bytes: 20}))
	require.Equal(t, []int{3, 3, 2}, pages(journal.PageLimit{Entries: 3, Bytes: 5 << 20}))
	require.Equal(t, []int{8}, pages(journal.PageLimit{Bytes: 1 << 30}))
	for after, want := range map[uint64]int{
		0: 8, positions[0]: 7, positions[6]: 1, positions[7]: 0, math.MaxInt64: 0, math.MaxUint64: 0,
	} {
		envelopes, err := b.store.Inbox(b.ctx, b.receiver(id), after)
		require.NoError(t, err)
		require.Len(t, envelopes, want, "after %d", after)
		messages, more, err := b.store.Messages(b.ctx, b.receiver(id), after, journal.PageLimit{Bytes: 1 << 30})
		require.NoError(t, err)
		require.False(t, more)
		require.Len(t, messages, want, "after %d", after)
	}
}

// testFindMessage finds messages by their origins: each in its own inbox, until it is taken.
func testFindMessage(t *testing.T, b *bundle) {
	id := b.start(t, newExecution("k"))
	of := map[journal.Receiver]uint64{}
	for _, to := range []journal.ID{id, ada.ID} {
		w := b.receive(id, 1)
		if to == ada.ID {
			w = b.entity(ada.ID)
			w.Receive = newMessage(1)
		}
		of[w.Receiver()] = b.put(t, w)
	}
	for to, position := range of {
		whole, err := b.store.Message(b.ctx, to, position)
		require.NoError(t, err)
		found, err := b.store.FindMessage(b.ctx, to, originOf(1))
		require.NoError(t, err)
		require.Equal(t, &journal.FoundMessage{Envelope: whole.Envelope}, found)
		_, err = b.store.FindMessage(b.ctx, to, originOf(2))
		require.ErrorIs(t, err, journal.ErrNotFound)
	}
	take := b.entity(ada.ID)
	take.Take = []uint64{of[journal.Receiver{ID: ada.ID}]}
	b.commit(t, take)
	_, err := b.store.FindMessage(b.ctx, journal.Receiver{ID: ada.ID}, originOf(1))
	require.ErrorIs(t, err, journal.ErrNotFound)
	_, err = b.store.FindMessage(b.ctx, b.receiver(id), originOf(1))
	require.NoError(t, err)
}

// newCall is the n-th message as one for an entity.
func newCall(n int) *journal.Message {
	m := newMessage(n)
	m.Kind = journal.CallMessage
	return m
}

func testReceivers(t *testing.T, b *bundle) {
	receivers := func(after journal.ID, limit int) []journal.ID {
		t.Helper()
		ids, err := b.store.Receivers(b.ctx, after, limit)
		require.NoError(t, err)
		return ids
	}
	require.Empty(t, receivers(journal.ID{}, 10))
	var ids []journal.ID
	w := b.entity(journal.EntityID("default", "bank/Teller", "1"))
	for i := range 40 {
		to := journal.EntityID("default", "bank/Account", fmt.Sprint(i))
		ids = append(ids, to)
		for n := range 1 + i%3 {
			w.Send = append(w.Send, journal.Sent{To: to, Message: *newCall(n)})
		}
	}
	// Two of one shard, the first and the last of all.
	for _, id := range []journal.ID{{0, 1}, {0, 1, 0, 1}, {255, 255}, journal.ID(bytes.Repeat([]byte{255}, 16))} {
		ids = append(ids, id)
		w.Send = append(w.Send, journal.Sent{To: id, Message: *newCall(1)})
	}
	// Executions are left out, whatever they have not looked at.
	for i := range 20 {
		w.Send = append(w.Send, journal.Sent{
			To:      journal.IDOf("default", "orders/Process", fmt.Sprint(i)),
			Chain:   journal.RunID{1},
			Message: *newMessage(1),
		})
	}
	b.commit(t, w)
	slices.SortFunc(ids, func(a, b journal.ID) int { return bytes.Compare(a[:], b[:]) })
	require.Equal(t, ids, receivers(journal.ID{}, 1000))
	require.Empty(t, receivers(journal.ID{}, 0))
	require.Empty(t, receivers(journal.ID{}, -1))
	var paged []journal.ID
	for after := (journal.ID{}); ; {
		page := receivers(after, 7)
		if len(page) == 0 {
			break
		}
		paged, after = append(paged, page...), page[len(page)-1]
	}
	require.Equal(t, ids, paged)
	between := ids[3]
	between[15]++ // no receiver's
	require.Equal(t, ids[4:], receivers(between, 1000))

	// An entity that has taken all has none.
	take := b.entity(ids[0])
	for _, m := range b.inbox(t, ids[0]) {
		take.Take = append(take.Take, m.Position)
		take.Receipts = append(take.Receipts, journal.Receipt{Origin: m.Origin})
	}
	b.commit(t, take)
	require.Equal(t, ids[1:], receivers(journal.ID{}, 1000))
}
