package storetest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

var fenceTests = []test{
	{"EpochsRise", nil, testEpochsRise},
	{"StaleOwnerWritesNothing", nil, testStaleOwner},
	{"FutureEpochWritesNothing", nil, testFutureEpoch},
	{"SecondHandleFences", needsShared, testSecondHandleFences},
	{"GuestCommitIsFenced", needsGuest, testGuestCommitIsFenced},
	{"StaleOwnerSweepsNothing", nil, testStaleSweep},
	{"SweepsItsOwnShards", nil, testSweepOwnShards},
	{"StaleOwnerDeploysNothing", nil, testStaleDeploy},
	{"StaleReplica", nil, testStaleReplica},
	{"GuestCommitOnAStaleReplica", needsGuest, testGuestOnAStaleReplica},
	{"PingOnAStaleReplica", needsShared, testPingOnAStaleReplica},
}

func testEpochsRise(t *testing.T, b *bundle) {
	first := b.fences
	b.claim(t, "second")
	for shard := range first {
		require.Equal(t, first[shard].Epoch+1, b.fences[shard].Epoch)
		require.NotEqual(t, first[shard].Token, b.fences[shard].Token)
	}
}

func testStaleOwner(t *testing.T, b *bundle) {
	old := b.start(t, newExecution("old"))
	started := newExecution("new")
	writes := []journal.Write{b.write(started.ID), b.write(old), b.write(old), b.write(old), b.write(old)}
	writes[0].Start = &started
	writes[1].Entries = []journal.Entry{newEntry(1)}
	writes[2].Update = &journal.Update{State: journal.Failed, FinishedAt: 1}
	writes[3].Receive = (&journal.Deferred{Name: "d"}).Message()
	writes[4].Update = &journal.Update{State: journal.Running, Interrupt: &journal.Interrupt{At: 1}}
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
	w := journal.Write{ID: old, Run: journal.RunID(old), Fence: b.fences[old.Shard()], Start: &again}
	w.Fence.Epoch--
	require.ErrorIs(t, b.result(t, w).Err, journal.ErrFenced)
	w.Fence.Epoch++
	require.Equal(t, journal.Result{Existed: true}, b.result(t, w))
}

func testFutureEpoch(t *testing.T, b *bundle) {
	e := newExecution("k")
	w := b.write(e.ID)
	w.Fence.Epoch++
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
	w.Fence = b.fences[id.Shard()]
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
	w.Fence.Epoch--
	w.Entries = []journal.Entry{newEntry(1)}
	require.ErrorIs(t, tx.Commit(b.ctx, w), journal.ErrFenced)
	require.NoError(t, tx.Rollback(b.ctx))
	require.Empty(t, b.entries(t, id))
	require.Empty(t, b.rows(t, "default", "SELECT id FROM accounts"))
}

func testStaleSweep(t *testing.T, b *bundle) {
	id := b.start(t, newExecution("k"))
	b.finish(t, id, 5)
	stale := b.fences
	b.claim(t, "second")
	mixed := slices.Clone(b.fences)
	mixed[id.Shard()] = stale[id.Shard()]
	for _, own := range [][]journal.Fence{stale, nil, b.fences[1:], mixed} {
		n, err := b.store.Sweep(b.ctx, own, 10, 10)
		require.ErrorIs(t, err, journal.ErrFenced)
		require.Zero(t, n)
		require.True(t, b.exists(t, id))
	}
	require.Equal(t, 1, b.sweep(t, 10, 10))

	again := b.start(t, newExecution("again"))
	b.finish(t, again, 5)
	_, err := b.store.Sweep(b.ctx, b.forget(t), 10, 10)
	require.ErrorIs(t, err, journal.ErrFenced, "also if both claims count to one epoch")
	require.True(t, b.exists(t, again))
}

// A host that owns some of the shards sweeps and purges these, and leaves all others alone.
func testSweepOwnShards(t *testing.T, b *bundle) {
	var ids []journal.ID
	for i := range 3 {
		callee, gone := b.start(t, newExecution(fmt.Sprint("callee ", i))), b.start(t, newExecution(fmt.Sprint(i)))
		w := b.write(gone)
		w.Entries = []journal.Entry{newEntry(1)}
		b.commit(t, w)
		lost := b.receiver(gone)
		lost.Chain[0] ^= 1
		b.commit(t, b.sendResult(t, callee, gone, lost.Chain, i))
		b.finish(t, gone, 5)
		entity := newEntity("bank/Account", fmt.Sprint(i))
		b.commit(t, b.lock(entity, callerOf(gone, 1)))
		w = b.entity(entity.ID)
		w.Receipts = []journal.Receipt{{Origin: originOf(1), At: 1}}
		b.commit(t, w)
		ids = append(ids, gone, entity.ID, callee)
	}
	all := b.fences
	for i, id := range ids {
		if slices.ContainsFunc(ids[:i], func(other journal.ID) bool { return other.Shard() == id.Shard() }) {
			continue
		}
		own := make([]journal.Fence, journal.NumShards)
		own[id.Shard()] = all[id.Shard()]
		b.fences = own
		executions, receipts := b.sweep(t, 10, 10), b.sweepReceipts(t, 10, 10)
		locks, err := b.store.SweepLocks(b.ctx, own, 10)
		require.NoError(t, err)
		b.purge(t)
		switch i % 3 {
		case 0:
			require.Equal(t, []int{1, 0, 0}, []int{executions, receipts, locks})
			lost := journal.Receiver{ID: id, Chain: journal.RunID(id)}
			lost.Chain[0] ^= 1
			left, err := b.store.Inbox(b.ctx, lost, 0)
			require.NoError(t, err)
			require.Empty(t, left)
			require.Empty(t, b.entries(t, id))
		case 1:
			require.Equal(t, []int{0, 1, 1}, []int{executions, receipts, locks})
		default:
			require.Equal(t, []int{1, 0, 0}, []int{executions, receipts, locks}, "the callee, which has sent a result")
		}
	}
	b.fences = all
	require.Zero(t, b.sweep(t, 100, 10), "nothing is left")
}

func testStaleDeploy(t *testing.T, b *bundle) {
	_, err := b.deploy(newModule("sha256:aa"), newDeployment("default", "orders", "sha256:aa"), nil)
	require.NoError(t, err)
	want, err := b.store.Deployment(b.ctx, "default", "orders")
	require.NoError(t, err)
	stale := b.fences
	b.claim(t, "second")
	d := newDeployment("default", "orders", "sha256:bb")
	steps := []abi.Migration{{Version: 1, Name: "tables", SQL: "CREATE TABLE late (id INTEGER PRIMARY KEY)"}}
	for _, f := range []journal.Fence{stale[d.Shard()], {}, b.forget(t)[d.Shard()]} {
		_, err = b.store.Deploy(b.ctx, f, newModule("sha256:bb"), d, steps)
		require.ErrorIs(t, err, journal.ErrFenced)
	}
	got, err := b.store.Deployment(b.ctx, "default", "orders")
	require.NoError(t, err)
	require.Equal(t, want, got)
	_, err = b.store.Module(b.ctx, "sha256:bb")
	require.ErrorIs(t, err, journal.ErrNotFound)
	// The migration was not applied: the present owner can.
	deployed, err := b.deploy(newModule("sha256:bb"), d, steps)
	require.NoError(t, err)
	require.EqualValues(t, 2, deployed.Version)
}

// forget lets another owner claim the shards, forgets it as a replica does that had not seen the claim, and claims them
// again: it returns the fences of the first. Both claims count to the same epoch.
func (b *bundle) forget(t *testing.T) (first []journal.Fence) {
	t.Helper()
	restore := b.harness.SaveShards(t)
	b.claim(t, "first")
	first = b.fences
	restore(t)
	b.claim(t, "second")
	for shard := range first {
		require.Equal(t, first[shard].Epoch, b.fences[shard].Epoch)
	}
	return first
}

func testStaleReplica(t *testing.T, b *bundle) {
	id := b.start(t, newExecution("k"))
	other := b.start(t, newExecution("other"))
	first := b.forget(t)

	w := b.write(id)
	w.Entries = []journal.Entry{newEntry(1)}
	w.Fence = first[id.Shard()]
	require.ErrorIs(t, b.result(t, w).Err, journal.ErrFenced)
	require.Empty(t, b.entries(t, id))

	// Also beside a write of the present owner, in one batch.
	ours := b.write(other)
	ours.Entries = []journal.Entry{newEntry(1)}
	results, err := b.store.Commit(b.ctx, []journal.Write{w, ours})
	require.NoError(t, err)
	require.ErrorIs(t, results[0].Err, journal.ErrFenced)
	require.NoError(t, results[1].Err)
	require.Empty(t, b.entries(t, id))
	require.Len(t, b.entries(t, other), 1)
}

func testGuestOnAStaleReplica(t *testing.T, b *bundle) {
	b.deployTables(t, "default")
	id := b.start(t, newExecution("k"))
	first := b.forget(t)
	tx := b.begin(t, "default")
	_, err := tx.Exec(b.ctx, "INSERT INTO accounts (id, owner) VALUES ($1, $2)", []any{int64(1), "ada"})
	require.NoError(t, err)
	w := b.write(id)
	w.Entries = []journal.Entry{newEntry(1)}
	w.Fence = first[id.Shard()]
	require.ErrorIs(t, tx.Commit(b.ctx, w), journal.ErrFenced)
	require.NoError(t, tx.Rollback(b.ctx))
	require.Empty(t, b.entries(t, id))
	require.Empty(t, b.rows(t, "default", "SELECT id FROM accounts"))
}

func testPingOnAStaleReplica(t *testing.T, b *bundle) {
	restore := b.harness.SaveShards(t)
	b.claim(t, "first")
	zombie := *b
	restore(t)
	b.open(t)
	b.claim(t, "second")
	require.Equal(t, zombie.fences[0].Epoch, b.fences[0].Epoch)
	require.ErrorIs(t, zombie.store.Ping(b.ctx), journal.ErrFenced)
	require.NoError(t, b.store.Ping(b.ctx))
}
