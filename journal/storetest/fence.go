package storetest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/journal"
)

var fenceTests = []test{
	{"EpochsRise", nil, testEpochsRise},
	{"StaleOwnerWritesNothing", nil, testStaleOwner},
	{"FutureEpochWritesNothing", nil, testFutureEpoch},
	{"SecondHandleFences", needsShared, testSecondHandleFences},
	{"GuestCommitIsFenced", needsGuest, testGuestCommitIsFenced},
}

func testEpochsRise(t *testing.T, b *bundle) {
	first := b.epochs
	b.claim(t, "second")
	for shard := range first {
		require.Equal(t, first[shard]+1, b.epochs[shard])
	}
}

func testStaleOwner(t *testing.T, b *bundle) {
	old := b.start(t, newExecution("old"))
	started := newExecution("new")
	writes := []journal.Write{b.write(started.ID), b.write(old), b.write(old), b.write(old), b.write(old)}
	writes[0].Start = &started
	writes[1].Entries = []journal.Entry{newEntry(1)}
	writes[2].Update = &journal.Update{State: journal.Failed, FinishedAt: 1}
	writes[3].Settle = &journal.Deferred{Name: "d"}
	writes[4].Interrupt = &journal.Interrupt{At: 1}
	before := b.load(t, old)
	b.claim(t, "second")

	results, err := b.store.Commit(b.ctx, writes)
	require.NoError(t, err)
	for i := range results {
		require.ErrorIs(t, results[i].Err, journal.ErrFenced)
		require.False(t, results[i].Existed)
	}
	_, err = b.store.Load(b.ctx, started.ID)
	require.ErrorIs(t, err, journal.ErrNotFound)
	require.Equal(t, before, b.load(t, old))
	require.Empty(t, b.entries(t, old))

	// Fencing comes before anything else is looked at.
	again := newExecution("old")
	w := journal.Write{ID: old, Run: journal.RunID(old), Epoch: b.epochs[old.Shard()] - 1, Start: &again}
	require.ErrorIs(t, b.result(t, w).Err, journal.ErrFenced)
	w.Epoch++
	require.Equal(t, journal.Result{Existed: true}, b.result(t, w))
}

func testFutureEpoch(t *testing.T, b *bundle) {
	e := newExecution("k")
	w := b.write(e.ID)
	w.Epoch++
	w.Start = &e
	require.ErrorIs(t, b.result(t, w).Err, journal.ErrFenced)
	_, err := b.store.Load(b.ctx, e.ID)
	require.ErrorIs(t, err, journal.ErrNotFound)
}

func testSecondHandleFences(t *testing.T, b *bundle) {
	id := b.start(t, newExecution("k"))
	zombie := *b
	b.open(t)
	require.NoError(t, zombie.store.Ping(b.ctx))
	b.claim(t, "second")
	require.ErrorIs(t, zombie.store.Ping(b.ctx), journal.ErrFenced, "who writes nothing learns it too")
	require.NoError(t, b.store.Ping(b.ctx))

	w := zombie.write(id)
	w.Entries = []journal.Entry{newEntry(1)}
	require.ErrorIs(t, zombie.result(t, w).Err, journal.ErrFenced)
	require.Empty(t, b.entries(t, id))
	w.Epoch = b.epochs[id.Shard()]
	b.commit(t, w)
	require.Len(t, zombie.entries(t, id), 1, "reads see every acknowledged commit of every owner")
}

func testGuestCommitIsFenced(t *testing.T, b *bundle) {
	b.deployTables(t, "default")
	id := b.start(t, newExecution("k"))
	tx := b.begin(t, "default")
	_, err := tx.Exec(b.ctx, "INSERT INTO accounts (id, owner) VALUES ($1, $2)", []any{int64(1), "ada"})
	require.NoError(t, err)
	w := b.write(id)
	w.Epoch--
	w.Entries = []journal.Entry{newEntry(1)}
	require.ErrorIs(t, tx.Commit(b.ctx, w), journal.ErrFenced)
	require.NoError(t, tx.Rollback(b.ctx))
	require.Empty(t, b.entries(t, id))
	require.Empty(t, b.rows(t, "default", "SELECT id FROM accounts"))
}
