package storetest

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/journal"
)

var hibernateTests = []test{
	{"SavedReplacedDeleted", nil, testHibernate},
	{"FollowsTheRun", nil, testHibernateFollowsTheRun},
	{"Survives", needsDurable, testHibernateSurvives},
}

// hibernate is a write of a saved state.
func (b *bundle) hibernate(id journal.ID, seq uint64, body []byte) journal.Write {
	w := b.write(id)
	w.Hibernate = &journal.Hibernated{Seq: seq, Body: body}
	return w
}

// requireSaved requires that a state is saved; a nil one stands for none.
func (b *bundle) requireSaved(t testing.TB, id journal.ID, want *journal.Hibernated) {
	t.Helper()
	got, err := b.store.Hibernated(b.ctx, b.runKey(id))
	if want == nil {
		require.ErrorIs(t, err, journal.ErrNotFound)
		return
	}
	require.NoError(t, err)
	require.Equal(t, want, got)
}

func testHibernate(t *testing.T, b *bundle) {
	id, other := b.start(t, newExecution("k")), b.start(t, newExecution("other"))
	b.requireSaved(t, id, nil)
	large := bytes.Repeat([]byte{0, 1, 255}, 1<<20)
	b.commit(t, b.hibernate(id, 3, large))
	b.requireSaved(t, id, &journal.Hibernated{Seq: 3, Body: large})
	b.requireSaved(t, other, nil)

	// Beside others in one batch, and beside other parts of one write.
	w := b.hibernate(id, 9, []byte{9})
	w.Entries = []journal.Entry{newEntry(1)}
	results, err := b.store.Commit(b.ctx, []journal.Write{
		b.hibernate(id, 8, []byte{8}), b.hibernate(other, 1, []byte{1}), w,
	})
	require.NoError(t, err)
	require.Equal(t, make([]journal.Result, 3), results)
	b.requireSaved(t, id, &journal.Hibernated{Seq: 9, Body: []byte{9}})
	b.requireSaved(t, other, &journal.Hibernated{Seq: 1, Body: []byte{1}})
	require.Len(t, b.entries(t, id), 1)

	b.commit(t, b.hibernate(id, 0, nil))
	b.requireSaved(t, id, nil)
	b.commit(t, b.hibernate(id, 0, nil))
	b.requireSaved(t, other, &journal.Hibernated{Seq: 1, Body: []byte{1}})

	result := b.result(t, b.hibernate(id, 1, make([]byte, journal.MaxHibernated+1)))
	require.Error(t, result.Err)
	b.requireSaved(t, id, nil)
}

func testHibernateFollowsTheRun(t *testing.T, b *bundle) {
	id := newExecution("k").ID
	require.ErrorIs(t, b.result(t, b.hibernate(id, 1, []byte{1})).Err, journal.ErrNotFound)
	b.start(t, newExecution("k"))
	stale := b.hibernate(id, 1, []byte{1})
	stale.Fence.Token[0] ^= 1
	require.ErrorIs(t, b.result(t, stale).Err, journal.ErrFenced)
	another := b.hibernate(id, 1, []byte{1})
	another.Run[0] ^= 1
	require.ErrorIs(t, b.result(t, another).Err, journal.ErrNotFound)
	b.requireSaved(t, id, nil)

	b.commit(t, b.hibernate(id, 1, []byte{1}))
	b.finish(t, id, 5)
	b.requireSaved(t, id, nil)
	b.commit(t, b.hibernate(id, 2, []byte{2}))
	b.requireSaved(t, id, nil) // it comes too late
	require.Equal(t, 1, b.sweep(t, 6, 10))
	b.purge(t)
	b.start(t, newExecution("k"))
	b.requireSaved(t, id, nil)
	both := b.hibernate(id, 3, []byte{3})
	both.Update = &journal.Update{State: journal.Failed, WakeAt: journal.Never, FinishedAt: 7}
	b.commit(t, both)
	b.requireSaved(t, id, nil)
}

func testHibernateSurvives(t *testing.T, b *bundle) {
	id := b.start(t, newExecution("k"))
	b.commit(t, b.hibernate(id, 7, []byte{7}))
	require.NoError(t, b.store.Close())
	b.open(t)
	b.requireSaved(t, id, &journal.Hibernated{Seq: 7, Body: []byte{7}})
}
