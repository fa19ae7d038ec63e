package postgres

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/journal"
)

// performed is the write of an operation of the nth entity that is asked for by a request.
func performed(fences []journal.Fence, n int, request string) journal.Write {
	key := fmt.Sprint(n)
	id := journal.EntityID("default", "bank/Account", key)
	return journal.Write{
		ID: id, Fence: fences[id.Shard()],
		Entity:   &journal.Entity{ID: id, Namespace: "default", Type: "bank/Account", Key: key, State: []byte(request)},
		Receipts: []journal.Receipt{{Origin: journal.OriginOfRequest(request)}},
	}
}

// sentTo is a message to an entity.
func sentTo(fences []journal.Fence, id journal.ID, request string) journal.Write {
	m := &journal.Message{
		Envelope: journal.Envelope{
			Kind: journal.CallMessage, Name: "add", Origin: journal.OriginOfRequest(request), Repeatable: true,
		},
	}
	return journal.Write{ID: id, Fence: fences[id.Shard()], Receive: m}
}

// TestStormOverManyEntities: operations that were performed before are refused by themselves. Operations of other
// entities in their batch take effect, and no batch is decided write by write.
func TestStormOverManyEntities(t *testing.T) {
	t.Parallel()
	store, fences := openInside(t)
	const entities = 20
	commit := func(writes ...journal.Write) []journal.Result {
		results, err := store.Commit(t.Context(), writes)
		require.NoError(t, err)
		return results
	}
	for n := range entities {
		require.NoError(t, commit(performed(fences, n, "first"))[0].Err)
	}
	for round := range 3 {
		var writes []journal.Write
		for n := range entities {
			request := fmt.Sprint("round ", round)
			if n%2 == 0 {
				request = "first"
			}
			writes = append(writes, performed(fences, n, request))
		}
		for n, r := range commit(writes...) {
			row, err := store.Entity(t.Context(), writes[n].ID)
			require.NoError(t, err)
			if n%2 == 0 {
				require.ErrorContains(t, r.Err, "there is a receipt")
				require.Equal(t, "first", string(row.State))
				continue
			}
			require.NoError(t, r.Err)
			require.Equal(t, fmt.Sprint("round ", round), string(row.State))
		}
	}
	require.Zero(t, store.decided.Load())
	stale := performed(fences, 0, "first")
	stale.Fence.Epoch--
	require.ErrorIs(t, commit(stale)[0].Err, journal.ErrFenced)
	for n := range prescreenedBatches {
		require.NoError(t, commit(performed(fences, 1, fmt.Sprint("calm ", n)))[0].Err)
	}
	require.False(
		t, store.refusals.expects([]*journal.Write{{ID: stale.ID, Receipts: stale.Receipts}}), "the storm is over",
	)
}

// TestStormIntoAFullInbox: refusals by a full inbox do not concern the messages to others, and its
// messages are counted once. As soon as one is taken out there is room.
func TestStormIntoAFullInbox(t *testing.T) {
	t.Parallel()
	store, fences := openInside(t)
	full, other := journal.EntityID("default", "bank/Account", "full"), journal.EntityID(
		"default", "bank/Account", "other",
	)
	store.send(t, fences, full, journal.MaxInbox-1)
	commit := func(writes ...journal.Write) []journal.Result {
		results, err := store.Commit(t.Context(), writes)
		require.NoError(t, err)
		return results
	}
	require.NotZero(t, commit(sentTo(fences, full, "last"))[0].Position)
	for round := range 3 {
		results := commit(
			sentTo(fences, full, "one more"), sentTo(fences, other, fmt.Sprint(round)), sentTo(fences, full, "last"),
			sentTo(fences, full, "another"),
		)
		require.ErrorIs(t, results[0].Err, journal.ErrInboxFull)
		require.NotZero(t, results[1].Position)
		require.Equal(t, journal.Result{Existed: true}, results[2])
		require.ErrorIs(t, results[3].Err, journal.ErrInboxFull)
	}
	require.Zero(t, store.decided.Load())
	waiting, err := store.Inbox(t.Context(), journal.Receiver{ID: full}, 0)
	require.NoError(t, err)
	take := journal.Write{ID: full, Fence: fences[full.Shard()], Take: []uint64{waiting[0].Position}}
	store.refusals.setFull(full)
	results := commit(sentTo(fences, full, "one more"), take, sentTo(fences, full, "another"))
	require.ErrorIs(t, results[0].Err, journal.ErrInboxFull)
	require.NoError(t, results[1].Err)
	require.NotZero(t, results[2].Position, "there is room behind the one that was taken")
	store.refusals.setFull(full)
	take.Take = []uint64{waiting[1].Position}
	commit(take)
	require.False(t, store.refusals.isFull(full))
	results = commit(sentTo(fences, full, "one more"), sentTo(fences, full, "too many"))
	require.NotZero(t, results[0].Position)
	require.ErrorIs(t, results[1].Err, journal.ErrInboxFull)
}
