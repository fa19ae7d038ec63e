package storetest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

var giveUpTests = []test{
	{"RoundTrip", nil, testGiveUp},
	{"Pages", nil, testGiveUpPages},
	{"TakesEffectWithItsWrite", nil, testGiveUpWithWrite},
	{"OutlivesItsRun", nil, testGiveUpOutlives},
	{"Drop", nil, testDropGivenUp},
	{"BesideAStart", nil, testGiveUpBesideStart},
	{"OfAnEntity", nil, testGiveUpOfEntity},
	{"Children", nil, testChildren},
	{"WithAGuest", needsGuest, testGiveUpWithGuest},
	{"Survives", needsDurable, testGiveUpSurvives},
}

func giveUp(step uint32, reason string) journal.GiveUp {
	return journal.GiveUp{Step: stepOf(step), At: int64(step) + 5, Reason: reason}
}

// giveUp commits that a run has given up steps.
func (b *bundle) giveUp(t testing.TB, id journal.ID, all ...journal.GiveUp) {
	t.Helper()
	w := b.write(id)
	w.GiveUp = all
	b.commit(t, w)
}

// givenUp reads all that has been given up, in pages.
func (b *bundle) givenUp(t testing.TB, page int) (all []journal.GivenUp) {
	t.Helper()
	var after journal.Caller
	for {
		found, err := b.store.GivenUp(b.ctx, after, page)
		require.NoError(t, err)
		require.LessOrEqual(t, len(found), page)
		if len(found) == 0 {
			return all
		}
		all = append(all, found...)
		after = found[len(found)-1].Caller()
	}
}

func ownGiveUp(id journal.ID, g journal.GiveUp) journal.GivenUp {
	return journal.GivenUp{ID: id, Run: journal.RunID(id), GiveUp: g}
}

func testGiveUp(t *testing.T, b *bundle) {
	id := b.start(t, newExecution("k"))
	require.Empty(t, b.givenUp(t, 10))
	first, all := giveUp(1, "a\x00reason, žluťoučký"), giveUp(0, "")
	b.giveUp(t, id, first, all)
	want := []journal.GivenUp{ownGiveUp(id, all), ownGiveUp(id, first)}
	require.Equal(t, want, b.givenUp(t, 10))

	again := giveUp(1, "another")
	again.At = 99
	b.giveUp(t, id, again)
	require.Equal(t, want, b.givenUp(t, 10), "one that is there stands")
	b.giveUp(t, id, giveUp(2, "x"), giveUp(2, "y"))
	require.Equal(t, append(want, ownGiveUp(id, giveUp(2, "x"))), b.givenUp(t, 10), "the first one stands")
}

func testGiveUpPages(t *testing.T, b *bundle) {
	var want []journal.GivenUp
	for _, key := range []string{"a", "b", "c", "d", "e"} {
		id := b.start(t, newExecution(key))
		b.giveUp(t, id, giveUp(1, key), giveUp(2, key))
		want = append(want, ownGiveUp(id, giveUp(1, key)), ownGiveUp(id, giveUp(2, key)))
	}
	for _, page := range []int{1, 3, 10, 11} {
		all := b.givenUp(t, page)
		require.ElementsMatch(t, want, all)
		for i := range all[1:] {
			require.Less(t, all[i].ID.String()+all[i].Step.String(), all[i+1].ID.String()+all[i+1].Step.String())
		}
	}
	none, err := b.store.GivenUp(b.ctx, journal.Caller{}, 0)
	require.NoError(t, err)
	require.Empty(t, none)
}

func testGiveUpWithWrite(t *testing.T, b *bundle) {
	id := b.start(t, newExecution("k"))
	b.commit(t, journal.Write{ID: id, Run: journal.RunID(id), Fence: b.fences[id.Shard()], Entries: []journal.Entry{newEntry(1)}})
	refused := func(change func(w *journal.Write)) journal.Result {
		w := b.write(id)
		w.GiveUp = []journal.GiveUp{giveUp(1, "r")}
		change(&w)
		return b.result(t, w)
	}
	require.ErrorIs(t, refused(func(w *journal.Write) { w.Fence.Epoch-- }).Err, journal.ErrFenced)
	require.ErrorIs(t, refused(func(w *journal.Write) { w.Run[0] ^= 1 }).Err, journal.ErrNotFound)
	require.Error(t, refused(func(w *journal.Write) { w.Entries = []journal.Entry{newEntry(1)} }).Err, "the number is taken")
	require.Empty(t, b.givenUp(t, 10))
}

// testGiveUpOutlives has rows stay when their run is over, has continued, and is swept.
func testGiveUpOutlives(t *testing.T, b *bundle) {
	ended, went := b.start(t, newExecution("ended")), b.start(t, newExecution("went on"))
	w := b.write(ended)
	w.Update = &journal.Update{State: journal.Completed, WakeAt: journal.Never, Value: abi.Nil, FinishedAt: 5}
	w.GiveUp = []journal.GiveUp{giveUp(0, "over")}
	b.commit(t, w)
	w = b.continueAs(went, journal.RunID{1})
	w.GiveUp = []journal.GiveUp{giveUp(0, "went on")}
	b.commit(t, w)
	want := []journal.GivenUp{ownGiveUp(ended, giveUp(0, "over")), ownGiveUp(went, giveUp(0, "went on"))}
	require.ElementsMatch(t, want, b.givenUp(t, 10))
	n, err := b.store.Sweep(b.ctx, b.fences, 100, 10)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.ElementsMatch(t, want, b.givenUp(t, 10))
}

func testDropGivenUp(t *testing.T, b *bundle) {
	id, other := b.start(t, newExecution("k")), b.start(t, newExecution("other"))
	b.giveUp(t, id, giveUp(1, "r"), giveUp(2, "r"), giveUp(3, "r"))
	b.giveUp(t, other, giveUp(1, "r"))
	drop := func(f journal.Fence, run journal.RunID, steps ...journal.StepID) error {
		return b.store.DropGivenUp(b.ctx, f, id, run, steps)
	}
	own := b.fences[id.Shard()]
	stale := own
	stale.Token[0] ^= 1
	require.ErrorIs(t, drop(stale, journal.RunID(id), stepOf(1)), journal.ErrFenced)
	require.NoError(t, drop(own, journal.RunID{7}, stepOf(1)))
	require.Len(t, b.givenUp(t, 10), 4)
	require.NoError(t, drop(own, journal.RunID(id), stepOf(1), stepOf(3), stepOf(9)))
	require.NoError(t, drop(own, journal.RunID(id), stepOf(1)), "it is gone already")
	require.ElementsMatch(t, []journal.GivenUp{ownGiveUp(id, giveUp(2, "r")), ownGiveUp(other, giveUp(1, "r"))}, b.givenUp(t, 10))
	b.giveUp(t, id, giveUp(1, "again"))
	require.Contains(t, b.givenUp(t, 10), ownGiveUp(id, giveUp(1, "again")))
}

// testGiveUpBesideStart has a parent give up a step in the batch in which the step's child is
// started, in either order: both take effect, and the child is found by the step.
func testGiveUpBesideStart(t *testing.T, b *bundle) {
	for _, startFirst := range []bool{true, false} {
		key := map[bool]string{true: "start first", false: "start second"}[startFirst]
		parent := b.start(t, newExecution(key))
		child := newExecution("child of " + key)
		child.Parent = callerOf(parent, 1)
		child.Pinned.OnCancel = abi.OnCancelCancel
		start, gives := b.write(child.ID), b.write(parent)
		start.Start = &child
		gives.GiveUp, gives.Entries = []journal.GiveUp{giveUp(1, key)}, []journal.Entry{newEntry(1)}
		writes := []journal.Write{gives, start}
		if startFirst {
			writes = []journal.Write{start, gives}
		}
		results, err := b.store.Commit(b.ctx, writes)
		require.NoError(t, err)
		require.Equal(t, []journal.Result{{}, {}}, results)
		require.Contains(t, b.givenUp(t, 10), ownGiveUp(parent, giveUp(1, key)))
		found, err := b.store.Callee(b.ctx, callerOf(parent, 1))
		require.NoError(t, err)
		require.Equal(t, &child, found)
	}
}

func testGiveUpOfEntity(t *testing.T, b *bundle) {
	w := journal.Write{ID: journal.ID{1}, Fence: b.fences[1], GiveUp: []journal.GiveUp{giveUp(1, "r")}}
	require.Error(t, b.result(t, w).Err)
	require.Empty(t, b.givenUp(t, 10))
}

func testChildren(t *testing.T, b *bundle) {
	parent := b.start(t, newExecution("parent"))
	var want []journal.ID
	for i, key := range []string{"a", "b", "c", "d"} {
		e := newExecution(key)
		e.Parent = callerOf(parent, uint32(i+1))
		e.Pinned.OnCancel = abi.OnCancelTerminate
		want = append(want, b.start(t, e))
	}
	b.start(t, newExecution("no child"))
	stranger := newExecution("of another run")
	stranger.Parent = journal.Caller{ID: parent, Run: journal.RunID{1}, Step: stepOf(1)}
	b.start(t, stranger)
	b.finish(t, want[1], 5)
	w := b.write(want[2])
	w.Update = &journal.Update{State: journal.Paused, WakeAt: journal.Never}
	b.commit(t, w)
	open := []journal.ID{want[0], want[2], want[3]}

	for _, page := range []int{1, 2, 10} {
		var found []journal.ID
		var after journal.ID
		for {
			rows, err := b.store.Children(b.ctx, journal.RunID(parent), after, page)
			require.NoError(t, err)
			if len(rows) == 0 {
				break
			}
			for i := range rows {
				require.Equal(t, b.load(t, rows[i].ID), &rows[i])
				require.Equal(t, abi.OnCancelTerminate, rows[i].Pinned.OnCancel)
				require.Less(t, after.String(), rows[i].ID.String())
				after = rows[i].ID
				found = append(found, after)
			}
		}
		require.ElementsMatch(t, open, found)
	}
	none, err := b.store.Children(b.ctx, journal.RunID{}, journal.ID{}, 10)
	require.NoError(t, err)
	require.Empty(t, none)
}

func testGiveUpWithGuest(t *testing.T, b *bundle) {
	id := b.start(t, newExecution("k"))
	for _, commits := range []bool{false, true} {
		tx, err := b.store.BeginGuest(b.ctx, "default")
		require.NoError(t, err)
		_, _, err = tx.Query(b.ctx, "SELECT 1", nil)
		require.NoError(t, err)
		if commits {
			w := b.write(id)
			w.Entries, w.GiveUp = []journal.Entry{newEntry(1)}, []journal.GiveUp{giveUp(1, "r")}
			require.NoError(t, tx.Commit(b.ctx, w))
			require.Equal(t, []journal.GivenUp{ownGiveUp(id, giveUp(1, "r"))}, b.givenUp(t, 10))
		}
		require.NoError(t, tx.Rollback(b.ctx))
	}
}

func testGiveUpSurvives(t *testing.T, b *bundle) {
	id := b.start(t, newExecution("k"))
	b.giveUp(t, id, giveUp(1, "r"))
	require.NoError(t, b.store.Close())
	b.open(t)
	require.Equal(t, []journal.GivenUp{ownGiveUp(id, giveUp(1, "r"))}, b.givenUp(t, 10))
}
