package storetest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/journal"
)

var lockTests = []test{
	{"HeldWhileBothRowsAgree", nil, testLockHeld},
	{"Released", nil, testLockReleased},
	{"Replaced", nil, testLockReplaced},
	{"List", nil, testLocksListed},
	{"Sweep", nil, testSweepLocks},
	{"StaleOwner", nil, testStaleLock},
	{"Malformed", nil, testLockMalformed},
}

// enter has a run enter the section of a step.
func (b *bundle) enter(t testing.TB, step journal.Caller) {
	t.Helper()
	w := b.section(step.ID, step.Run, step.Step)
	w.Chain = b.load(t, step.ID).Chain
	b.commit(t, w)
}

// section is a write of the section of a run that goes on.
func (b *bundle) section(id journal.ID, run journal.RunID, step journal.StepID) journal.Write {
	w := b.write(id)
	w.Run = run
	w.Update = &journal.Update{State: journal.Running, WakeAt: journal.Never, Section: step}
	return w
}

// lock is a write of the lock of an entity.
func (b *bundle) lock(e journal.Entity, holder journal.Caller) journal.Write {
	w := b.entity(e.ID)
	w.Lock = &journal.Lock{Entity: e.ID, Namespace: e.Namespace, Type: e.Type, Key: e.Key, Holder: holder, Since: 7}
	return w
}

func (b *bundle) inSection(t testing.TB, step journal.Caller) bool {
	t.Helper()
	in, err := b.store.InSection(b.ctx, step)
	require.NoError(t, err)
	return in
}

// locks lists the locks that are held, in pages of the given size.
func (b *bundle) locks(t testing.TB, namespace string, limit int) (all []journal.HeldLock) {
	t.Helper()
	f := journal.LockFilter{Namespace: namespace, Limit: limit}
	for more := true; more; {
		var page []journal.HeldLock
		var err error
		page, f.After, more, err = b.store.Locks(b.ctx, f)
		require.NoError(t, err)
		require.LessOrEqual(t, len(page), limit)
		all = append(all, page...)
	}
	return all
}

func testLockHeld(t *testing.T, b *bundle) {
	e, run := newEntity("bank/Account", "ada"), b.start(t, newExecution("k"))
	step := callerOf(run, 3)
	_, err := b.store.Lock(b.ctx, e.ID)
	require.ErrorIs(t, err, journal.ErrNotFound)
	entity, got, err := b.store.LockedEntity(b.ctx, e.ID)
	require.NoError(t, err)
	require.Nil(t, entity)
	require.Nil(t, got)
	w := b.lock(e, step)
	b.commit(t, w)
	got, err = b.store.Lock(b.ctx, e.ID)
	require.NoError(t, err)
	require.Equal(t, w.Lock, got)
	entity, got, err = b.store.LockedEntity(b.ctx, e.ID)
	require.NoError(t, err)
	require.Nil(t, entity)
	require.Equal(t, w.Lock, got)
	b.commit(t, b.replace(e))
	entity, got, err = b.store.LockedEntity(b.ctx, e.ID)
	require.NoError(t, err)
	require.Equal(t, &e, entity)
	require.Equal(t, w.Lock, got)
	require.False(t, b.inSection(t, step), "the run does not say so")
	require.Empty(t, b.locks(t, "", 10))

	b.enter(t, step)
	require.Equal(t, step.Step, b.load(t, run).Section)
	require.True(t, b.inSection(t, step))
	require.Equal(t, []journal.HeldLock{{Lock: *w.Lock, HolderName: "orders/Process/k"}}, b.locks(t, "default", 10))
	require.False(t, b.inSection(t, callerOf(run, 4)), "the section of another step")
	other := step
	other.Run[0] ^= 1
	require.False(t, b.inSection(t, other), "another run")
	require.False(t, b.inSection(t, callerOf(newExecution("missing").ID, 3)))
	require.False(t, b.inSection(t, journal.Caller{}))
}

// testLockReleased has everything that ends a section or a run release its locks.
func testLockReleased(t *testing.T, b *bundle) {
	for name, end := range map[string]func(*journal.Write){
		"left":     func(w *journal.Write) { w.Update = &journal.Update{State: journal.Running} },
		"finished": func(w *journal.Write) { w.Update = &journal.Update{State: journal.Completed, FinishedAt: 1} },
		"forgotten": func(w *journal.Write) {
			w.Update = &journal.Update{State: journal.Failed, FinishedAt: 1, Section: stepOf(3)}
		},
		"continued": func(w *journal.Write) { w.Continue = &journal.Continuation{Run: journal.RunID{1}} },
	} {
		e, run := newEntity("bank/Account", name), b.start(t, newExecution(name))
		step := callerOf(run, 3)
		b.enter(t, step)
		b.commit(t, b.lock(e, step))
		require.True(t, b.inSection(t, step), name)
		w := b.write(run)
		end(&w)
		b.commit(t, w)
		require.False(t, b.inSection(t, step), name)
	}
	require.Empty(t, b.locks(t, "", 10))

	// A paused run keeps its locks.
	e, run := newEntity("bank/Account", "paused"), b.start(t, newExecution("paused"))
	b.enter(t, callerOf(run, 3))
	b.commit(t, b.lock(e, callerOf(run, 3)))
	w := b.write(run)
	w.Update = &journal.Update{State: journal.Paused, Section: stepOf(3)}
	b.commit(t, w)
	require.Len(t, b.locks(t, "", 10), 1)
}

func testLockReplaced(t *testing.T, b *bundle) {
	e := newEntity("bank/Account", "ada")
	first, second := callerOf(b.start(t, newExecution("first")), 1), callerOf(b.start(t, newExecution("second")), 2)
	b.enter(t, second)
	unlock := b.entity(e.ID)
	unlock.Unlock = true
	// The last of a batch stands, and so does what else is written of the entity.
	writes := []journal.Write{b.lock(e, first), b.replace(e), b.lock(e, second)}
	results, err := b.store.Commit(b.ctx, writes)
	require.NoError(t, err)
	require.Equal(t, make([]journal.Result, 3), results)
	require.Equal(t, second, b.locks(t, "", 10)[0].Holder)
	b.requireEntity(t, e.ID, &e)

	destroy := b.entity(e.ID)
	destroy.Destroy = true
	b.commit(t, destroy)
	require.Len(t, b.locks(t, "", 10), 1, "an entity is held whether it has a state or not")
	b.commit(t, unlock)
	b.commit(t, unlock)
	_, err = b.store.Lock(b.ctx, e.ID)
	require.ErrorIs(t, err, journal.ErrNotFound)
	require.True(t, b.inSection(t, second), "the run is in its section all the same")
}

func testLocksListed(t *testing.T, b *bundle) {
	held, over := callerOf(b.start(t, newExecution("held")), 1), callerOf(b.start(t, newExecution("over")), 1)
	b.enter(t, held)
	var want []journal.HeldLock
	for i := range 20 {
		e := newEntity("bank/Account", fmt.Sprint(i))
		if i%2 == 0 {
			e.Namespace = "other"
		}
		holder := held
		if i%3 == 0 {
			holder = over
		}
		w := b.lock(e, holder)
		b.commit(t, w)
		if i%3 != 0 {
			want = append(want, journal.HeldLock{Lock: *w.Lock, HolderName: "orders/Process/held"})
		}
	}
	slices.SortFunc(want, func(a, b journal.HeldLock) int { return slices.Compare(a.Entity[:], b.Entity[:]) })
	for _, limit := range []int{1, 3, 100} {
		require.Equal(t, want, b.locks(t, "", limit))
		others := slices.DeleteFunc(slices.Clone(want), func(l journal.HeldLock) bool { return l.Namespace != "other" })
		require.Equal(t, others, b.locks(t, "other", limit))
	}
	require.Empty(t, b.locks(t, "none", 10))
	_, _, _, err := b.store.Locks(b.ctx, journal.LockFilter{Limit: -1})
	require.Error(t, err)
}

func testSweepLocks(t *testing.T, b *bundle) {
	held, over := callerOf(b.start(t, newExecution("held")), 1), callerOf(b.start(t, newExecution("over")), 1)
	b.enter(t, held)
	const each = journal.SweepBatch + 10
	writes := make([]journal.Write, 0, 2*each)
	for i := range each {
		writes = append(
			writes, b.lock(newEntity("bank/Account", fmt.Sprint("held", i)), held),
			b.lock(newEntity("bank/Account", fmt.Sprint("over", i)), over),
		)
	}
	results, err := b.store.Commit(b.ctx, writes)
	require.NoError(t, err)
	require.Equal(t, make([]journal.Result, 2*each), results)
	for _, want := range []struct{ limit, deleted int }{{-1, 0}, {0, 0}, {each - 5, each - 5}, {each, 5}, {each, 0}} {
		deleted, err := b.store.SweepLocks(b.ctx, b.fences, want.limit)
		require.NoError(t, err)
		require.Equal(t, want.deleted, deleted)
	}
	require.Len(t, b.locks(t, "", 1000), each)
	// A holder that retention has deleted holds nothing.
	b.finish(t, held.ID, 1)
	require.Equal(t, 1, b.sweep(t, 2, 1))
	deleted, err := b.store.SweepLocks(b.ctx, b.fences, 1000)
	require.NoError(t, err)
	require.Equal(t, each, deleted)
}

func testStaleLock(t *testing.T, b *bundle) {
	e, step := newEntity("bank/Account", "ada"), callerOf(b.start(t, newExecution("k")), 1)
	w, stale := b.lock(e, step), b.fences
	b.claim(t, "second")
	require.ErrorIs(t, b.result(t, w).Err, journal.ErrFenced)
	_, err := b.store.Lock(b.ctx, e.ID)
	require.ErrorIs(t, err, journal.ErrNotFound)
	b.commit(t, b.lock(e, step))
	w.Lock, w.Unlock = nil, true
	require.ErrorIs(t, b.result(t, w).Err, journal.ErrFenced)
	_, err = b.store.SweepLocks(b.ctx, stale, 10)
	require.ErrorIs(t, err, journal.ErrFenced)
	_, err = b.store.Lock(b.ctx, e.ID)
	require.NoError(t, err)
}

func testLockMalformed(t *testing.T, b *bundle) {
	e, run := newEntity("bank/Account", "ada"), b.start(t, newExecution("k"))
	for name, spoil := range map[string]func(*journal.Write){
		"of another entity": func(w *journal.Write) { w.Lock.Entity[3] ^= 1 },
		"without a holder":  func(w *journal.Write) { w.Lock.Holder = journal.Caller{} },
		"and unlocked":      func(w *journal.Write) { w.Unlock = true },
		"of a run":          func(w *journal.Write) { w.Run = journal.RunID{1} },
	} {
		w := b.lock(e, callerOf(run, 1))
		spoil(&w)
		// Its neighbours are not affected.
		results, err := b.store.Commit(b.ctx, []journal.Write{b.section(run, journal.RunID(run), stepOf(1)), w})
		require.NoError(t, err)
		require.NoError(t, results[0].Err)
		require.Error(t, results[1].Err, name)
	}
	_, err := b.store.Lock(b.ctx, e.ID)
	require.ErrorIs(t, err, journal.ErrNotFound)
}
