package storetest

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

var sweepTests = []test{
	{"DeletesUpToALimit", nil, testSweepLimit},
	{"KeepsWhatIsNotOver", nil, testSweepKeeps},
	{"KeepsChildrenOfTheLiving", nil, testSweepChildren},
	{"KeyCanBeUsedAgain", nil, testSweepReuse},
	{"PassesOverWhatIsKept", nil, testSweepPassesOver},
	{"HoldersChange", nil, testSweepHolders},
	{"LongJournals", nil, testSweepLong},
	{"RunIsStartedOnce", nil, testRunIsStartedOnce},
	{"HolderIsStartedOnce", nil, testHolderIsStartedOnce},
	{"PurgeInPieces", nil, testPurgeInPieces},
	{"AgainstEnds", nil, testSweepAgainstEnds},
	{"AgainstLinks", nil, testSweepAgainstLinks},
	{"KeepsWhatTheLivingAreLinkedTo", nil, testSweepLinked},
}

func (b *bundle) sweep(t testing.TB, before int64, limit int) int {
	t.Helper()
	n, err := b.store.Sweep(b.ctx, b.fences, before, limit)
	require.NoError(t, err)
	return n
}

func (b *bundle) exists(t testing.TB, id journal.ID) bool {
	t.Helper()
	_, err := b.store.Load(b.ctx, id)
	if err != nil {
		require.ErrorIs(t, err, journal.ErrNotFound)
	}
	return err == nil
}

func testSweepLimit(t *testing.T, b *bundle) {
	var ids []journal.ID
	for i := range 6 {
		id := b.start(t, newExecution(fmt.Sprint(i)))
		w := b.write(id)
		w.Entries = []journal.Entry{newEntry(1)}
		w.Receive = (&journal.Deferred{Name: "d"}).Message()
		b.commit(t, w)
		b.finish(t, id, int64(100+i))
		ids = append(ids, id)
	}
	require.Equal(t, 2, b.sweep(t, 105, 2))
	left := slices.DeleteFunc(slices.Clone(ids), func(id journal.ID) bool { return !b.exists(t, id) })
	require.Len(t, left, 4)
	require.Contains(t, left, ids[5])
	require.Equal(t, 3, b.sweep(t, 105, 100), "finished before, not at")
	require.Equal(t, 0, b.sweep(t, 105, 100))
	require.True(t, b.exists(t, ids[5]))
	b.purge(t)
	require.Empty(t, b.entries(t, ids[0]))
	require.Len(t, b.entries(t, ids[5]), 1)
	deferreds := b.deferreds(t, ids[0])
	require.Empty(t, deferreds)
}

func testSweepKeeps(t *testing.T, b *bundle) {
	running := b.start(t, newExecution("running"))
	paused := newExecution("paused")
	paused.State = journal.Paused
	b.start(t, paused)
	for state, key := range map[journal.State]string{
		journal.Completed: "c", journal.Failed: "f", journal.Interrupted: "i",
	} {
		id := b.start(t, newExecution(key))
		w := b.write(id)
		w.Update = &journal.Update{State: state, WakeAt: journal.Never, FinishedAt: 1}
		b.commit(t, w)
	}
	require.Equal(t, 3, b.sweep(t, journal.Never, 100))
	require.True(t, b.exists(t, running))
	require.True(t, b.exists(t, paused.ID))
}

func testSweepChildren(t *testing.T, b *bundle) {
	parent := b.start(t, newExecution("parent"))
	child, orphan := newExecution("child"), newExecution("orphan")
	child.Parent = callerOf(parent, 1)
	orphan.Parent = callerOf(parent, 2)
	orphan.Parent.Run[0] ^= 1 // an earlier run of the same name
	for _, e := range []journal.Execution{child, orphan} {
		b.start(t, e)
		b.finish(t, e.ID, 10)
	}
	require.Equal(t, 1, b.sweep(t, 1000, 100), "only the one whose parent is gone")
	require.True(t, b.exists(t, child.ID), "the parent may read it again when it is replayed")
	require.False(t, b.exists(t, orphan.ID))

	w := b.write(parent)
	w.Update = &journal.Update{State: journal.Paused, Error: abi.Errorf(abi.CodePaused, "why")}
	b.commit(t, w)
	require.Equal(t, 0, b.sweep(t, 1000, 100), "a paused parent can be resumed")

	b.finish(t, parent, 2000)
	require.Equal(t, 1, b.sweep(t, 1000, 100))
	require.False(t, b.exists(t, child.ID))
	require.True(t, b.exists(t, parent))
}

func testSweepReuse(t *testing.T, b *bundle) {
	e := newExecution("k")
	b.start(t, e)
	w := b.write(e.ID)
	w.Entries = []journal.Entry{newEntry(1)}
	w.Receive = (&journal.Deferred{Name: "d"}).Message()
	b.commit(t, w)
	b.finish(t, e.ID, 5)
	require.Equal(t, 1, b.sweep(t, 6, 1))
	e.Run, e.Chain = journal.RunID{1}, journal.RunID{1}
	again := b.write(e.ID)
	again.Run, again.Start = e.Run, &e
	b.commit(t, again)
	require.Equal(t, &e, b.load(t, e.ID))
	require.Empty(t, b.entries(t, e.ID), "nothing of the first is left")
	require.ErrorIs(
		t, b.result(t, w).Err, journal.ErrNotFound, "a late write of the first run does not reach the second",
	)
	require.Empty(t, b.entries(t, e.ID))
	w.Run = e.Run
	b.commit(t, w)
}

// testSweepLinked shows that retention leaves alone the callees of a live execution.
func testSweepLinked(t *testing.T, b *bundle) {
	caller := b.start(t, newExecution("caller"))
	callee := b.start(t, newExecution("callee"))
	b.finish(t, callee, 10)
	w := b.write(caller)
	w.Link = &journal.Link{Step: stepOf(1), Callee: callee, Chain: journal.RunID(callee)}
	b.commit(t, w)
	require.Equal(t, 0, b.sweep(t, 1000, 100))
	require.True(t, b.exists(t, callee))
	b.finish(t, caller, 2000)
	require.Equal(t, 1, b.sweep(t, 1000, 100))
	require.False(t, b.exists(t, callee))
	_, err := b.store.Callee(b.ctx, callerOf(caller, 1))
	require.ErrorIs(t, err, journal.ErrSwept)
}

// More than one page of rows that must be kept lies in front of rows that may be deleted.
func testSweepPassesOver(t *testing.T, b *bundle) {
	parent := newExecution("parent")
	b.start(t, parent)
	const kept = 2*journal.SweepBatch + 10
	var writes []journal.Write
	var children []journal.ID
	for i := range kept + 3 {
		e := newExecution(fmt.Sprint(i))
		if i < kept {
			e.Parent = callerOf(parent.ID, uint32(i))
		}
		e.State, e.WakeAt, e.FinishedAt = journal.Completed, journal.Never, int64(i+1)
		w := b.write(e.ID)
		w.Start = &e
		writes, children = append(writes, w), append(children, e.ID)
	}
	results, err := b.store.Commit(b.ctx, writes)
	require.NoError(t, err)
	for _, r := range results {
		require.NoError(t, r.Err)
	}
	require.Equal(t, 2, b.sweep(t, 100_000, 2), "behind what is kept")
	require.Equal(t, 1, b.sweep(t, 100_000, 2))
	require.Equal(t, 0, b.sweep(t, 100_000, 2))
	require.True(t, b.exists(t, children[0]))

	b.finish(t, parent.ID, 200_000)
	require.Equal(t, kept, b.sweep(t, 100_000, 10*kept), "the parent is over")
	require.False(t, b.exists(t, children[0]))
	require.True(t, b.exists(t, parent.ID))
	require.Equal(t, 1, b.sweep(t, 300_000, 10))
}

// A row kept because of one execution may next be kept because of another.
func testSweepHolders(t *testing.T, b *bundle) {
	parent, caller, callee := newExecution("parent"), newExecution("caller"), newExecution("callee")
	b.start(t, parent)
	b.start(t, caller)
	callee.Parent = callerOf(parent.ID, 1)
	b.start(t, callee)
	b.finish(t, callee.ID, 10)
	require.Equal(t, 0, b.sweep(t, 1000, 100), "the parent is alive")
	w := b.write(caller.ID)
	w.Link = &journal.Link{Step: stepOf(1), Callee: callee.ID, Chain: callee.Run}
	b.commit(t, w)
	b.finish(t, parent.ID, 20)
	require.Equal(t, 1, b.sweep(t, 1000, 100), "the parent; the caller is alive")
	require.True(t, b.exists(t, callee.ID))
	require.False(t, b.exists(t, parent.ID))
	require.Equal(t, 0, b.sweep(t, 1000, 100))
	b.finish(t, caller.ID, 30)
	require.Equal(t, 1, b.sweep(t, 25, 100))
	require.False(t, b.exists(t, callee.ID))
}

// A journal that is longer than a transaction deletes goes in pieces, and whole.
func testSweepLong(t *testing.T, b *bundle) {
	const long = 2*journal.SweepEntries + 5
	var ids []journal.ID
	for i, entries := range []int{3, long, 2} {
		id := b.start(t, newExecution(fmt.Sprint(i)))
		for first := 0; first < entries; first += 500 {
			w := b.write(id)
			for seq := first + 1; seq <= min(first+500, entries); seq++ {
				w.Entries = append(w.Entries, newEntry(uint64(seq)))
			}
			b.commit(t, w)
		}
		b.finish(t, id, int64(10+i))
		ids = append(ids, id)
	}
	require.Equal(t, 3, b.sweep(t, 1000, 100))
	b.purge(t)
	for _, id := range ids {
		require.False(t, b.exists(t, id))
		require.Empty(t, b.entries(t, id))
	}
}

// Sweeps run while parents end: whatever the timing, nothing is held for ever.
func testSweepAgainstEnds(t *testing.T, b *bundle) {
	const parents = 40
	var ids []journal.ID
	for i := range parents {
		parent := newExecution(fmt.Sprint("parent ", i))
		ids = append(ids, b.start(t, parent))
		child := newExecution(fmt.Sprint("child ", i))
		child.Parent = callerOf(parent.ID, 1)
		b.start(t, child)
		b.finish(t, child.ID, 10)
	}
	var group errgroup.Group
	over := make(chan struct{})
	swept := 0
	group.Go(func() error {
		for {
			n, err := b.store.Sweep(b.ctx, b.fences, 1000, 7)
			if err != nil && !errors.Is(err, journal.ErrConflict) {
				return err
			}
			swept += n
			select {
			case <-over:
				return nil
			default:
			}
		}
	})
	for _, id := range ids {
		b.finish(t, id, 500)
	}
	close(over)
	require.NoError(t, group.Wait())
	swept += b.sweep(t, 1000, 10*parents)
	require.Equal(t, 2*parents, swept)
}

// testSweepAgainstLinks has steps linked to executions while a sweep deletes them. Each link either finds its callee
// gone, or keeps it.
func testSweepAgainstLinks(t *testing.T, b *bundle) {
	const callees = 40
	caller := b.start(t, newExecution("caller"))
	var found []journal.Execution
	for i := range callees {
		callee := newExecution(fmt.Sprint("callee ", i))
		b.start(t, callee)
		b.finish(t, callee.ID, int64(10+i))
		found = append(found, callee)
	}
	var group errgroup.Group
	group.Go(func() error {
		for swept := 1; swept > 0; {
			n, err := b.store.Sweep(b.ctx, b.fences, 1000, 3)
			if err != nil && !errors.Is(err, journal.ErrConflict) {
				return err
			}
			swept = n
		}
		return nil
	})
	linked := map[journal.ID]bool{}
	for i, callee := range slices.Backward(found) { // they meet half-way
		w := b.write(caller)
		w.Link = &journal.Link{Step: stepOf(uint32(i)), Callee: callee.ID, Chain: callee.Run}
		err := b.result(t, w).Err
		if linked[callee.ID] = err == nil; err != nil {
			require.ErrorIs(t, err, journal.ErrSwept)
		}
	}
	require.NoError(t, group.Wait())
	b.sweep(t, 1000, callees)
	for id, kept := range linked {
		require.Equal(t, kept, b.exists(t, id))
	}
}

// testHolderIsStartedOnce has a run deleted that held others: it stays known until these are free.
func testHolderIsStartedOnce(t *testing.T, b *bundle) {
	parent, child := newExecution("parent"), newExecution("child")
	start := b.write(parent.ID)
	start.Start = &parent
	b.commit(t, start)
	child.Parent = callerOf(parent.ID, 1)
	b.start(t, child)
	b.finish(t, child.ID, 10)
	require.Zero(t, b.sweep(t, 100, 10), "it is held")
	b.finish(t, parent.ID, 1000)
	require.NoError(t, b.delete(parent.ID, parent.Run))
	b.purge(t)
	require.ErrorIs(t, b.result(t, start).Err, journal.ErrSwept)
	require.Equal(t, 1, b.sweep(t, 100, 10), "it is free")
	b.purge(t)
	require.NoError(t, b.result(t, start).Err, "nothing goes by its id any more")
}

// A start is repeated if its answer was lost. It starts nothing if its run has ended by then and
// was superseded, swept or deleted: the rows left behind by that run go by the same key.
func testRunIsStartedOnce(t *testing.T, b *bundle) {
	for name, forget := range map[string]func(id journal.ID){
		"swept":   func(journal.ID) { b.sweep(t, 100, 10) },
		"deleted": func(id journal.ID) { require.NoError(t, b.delete(id, journal.RunID(id))) },
		"superseded": func(id journal.ID) {
			b.commit(t, b.startOver("superseded", journal.RunID(id), journal.RunID{1}))
			b.finishRun(t, id, journal.RunID{1}, 1000)
			require.NoError(t, b.delete(id, journal.RunID{1}))
		},
	} {
		e := newExecution(name)
		start := b.write(e.ID)
		start.Start = &e
		b.commit(t, start)
		w := b.write(e.ID)
		w.Entries = []journal.Entry{newEntry(1)}
		b.commit(t, w)
		b.finish(t, e.ID, 10)
		forget(e.ID)

		neighbour := newExecution("beside " + name)
		beside := b.write(neighbour.ID)
		beside.Start = &neighbour
		require.ErrorIs(t, b.result(t, start).Err, journal.ErrSwept, name)
		results, err := b.store.Commit(b.ctx, []journal.Write{start, beside})
		require.NoError(t, err)
		require.ErrorIs(t, results[0].Err, journal.ErrSwept, name)
		require.NoError(t, results[1].Err, name)
		require.False(t, b.exists(t, e.ID), name)

		again := newExecution(name)
		again.Run, again.Chain = journal.RunID{7}, journal.RunID{7}
		next := b.write(e.ID)
		next.Run, next.Start = again.Run, &again
		b.commit(t, next)
		require.Empty(t, b.entries(t, e.ID), "another run is started under the name")
	}
}
