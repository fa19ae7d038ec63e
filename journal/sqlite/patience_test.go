package sqlite

import (
	"context"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/journal"
)

// A transaction that takes longer than the grace, and less than the limit, gets done although the journal always waits:
// preempted a few times, then given its time.
func TestLongTransactionsGetDone(t *testing.T) {
	t.Parallel()
	clock := clockwork.NewFakeClock()
	store, err := Open(t.Context(), Config{
		Clock: clock, Dir: t.TempDir(), GuestTxGrace: 250 * time.Millisecond, GuestTxLimit: 2 * time.Second,
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	fences, err := store.ClaimShards(t.Context(), "test")
	require.NoError(t, err)
	id := journal.IDOf("default", "w/W", "k")
	w := journal.Write{
		ID:    id,
		Run:   journal.RunID(id),
		Fence: fences[id.Shard()],
		Start: &journal.Execution{ID: id, Run: journal.RunID(id), State: journal.Running},
	}

	// The work takes a second and a half. The host makes one attempt after the other.
	for conflicts := range 3 {
		tx, err := store.BeginGuest(journal.AfterConflicts(t.Context(), conflicts), "default")
		require.NoError(t, err)
		busy := enqueue(t.Context(), t, &store.queue, journalUser)
		clock.Advance(1500 * time.Millisecond)
		require.NoError(t, <-busy, "the journal gets its turn")
		require.ErrorIs(t, tx.Commit(t.Context(), w), journal.ErrConflict)
		store.queue.release()
	}
	tx, err := store.BeginGuest(journal.AfterConflicts(t.Context(), 3), "default")
	require.NoError(t, err)
	busy := enqueue(t.Context(), t, &store.queue, journalUser)
	// Time passes in small steps: whatever is due has run before the next.
	for range 15 {
		clock.Advance(100 * time.Millisecond)
		ctx, cancel := context.WithTimeout(t.Context(), waitLong)
		require.NoError(t, clock.BlockUntilContext(ctx, 2), "the limit, and the patience of the journal")
		cancel()
	}
	requireWaiting(t, busy)
	require.NoError(t, tx.Commit(t.Context(), w))
	require.NoError(t, <-busy)
	store.queue.release()
	_, err = store.Load(t.Context(), id)
	require.NoError(t, err)
}
