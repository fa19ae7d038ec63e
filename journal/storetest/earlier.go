package storetest

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/cruster/cruster/journal"
)

var earlierTests = []test{
	{"WhatIsSuperseded", nil, testReplace},
	{"OfAnotherRun", nil, testReplaceAnotherRun},
	{"InABatch", nil, testReplaceInABatch},
	{"AtOnce", nil, testReplaceAtOnce},
	{"WithASignal", nil, testReplaceWithASignal},
	{"Malformed", nil, testReplaceMalformed},
	{"Pages", nil, testEarlierPages},
	{"ByRequest", nil, testRequested},
	{"FoundByCallers", nil, testReplacedCallee},
	{"Retention", nil, testReplacedSwept},
	{"Survives", needsDurable, testReplaceSurvives},
	{"Delete", nil, testDelete},
	{"DeleteLong", nil, testDeleteLong},
	{"DeleteOfAnotherRun", nil, testDeleteAnotherRun},
	{"DeleteForCallers", nil, testDeletedCallee},
	{"DeleteHolder", nil, testDeleteHolder},
}

// startOver returns a write by which a new run takes the place of a finished one.
func (b *bundle) startOver(key string, over, next journal.RunID) journal.Write {
	e := newExecution(key)
	e.Run, e.Chain, e.CreatedAt, e.Request = next, next, 2000+int64(next[0]), journal.Origin{next[0]}
	w := b.write(e.ID)
	w.Run, w.Start, w.Replace = next, &e, over
	return w
}

// finishRun commits the end of a run that is not the first.
func (b *bundle) finishRun(t testing.TB, id journal.ID, run journal.RunID, at int64) {
	t.Helper()
	w := b.write(id)
	w.Run, w.Chain, w.Update = run, b.load(t, id).Chain, &journal.Update{State: journal.Failed, FinishedAt: at}
	b.commit(t, w)
}

// lived returns a finished execution that has left something in every table.
func (b *bundle) lived(t testing.TB, key string) journal.ID {
	t.Helper()
	callee := b.start(t, newExecution("callee of "+key))
	id := b.start(t, newExecution(key))
	w := b.write(id)
	w.Entries, w.Link = []journal.Entry{
		newEntry(1), newEntry(2),
	}, &journal.Link{Step: stepOf(1), Callee: callee, Chain: journal.RunID(callee)}
	w.Publish = &journal.Published{Attributes: []journal.NamedAttribute{named("a", number(1))}}
	b.commit(t, w)
	w = b.write(id)
	w.Receive = (&journal.Deferred{Name: "d", At: 1, Origin: journal.Origin{1}}).Message()
	b.commit(t, w)
	b.commit(t, b.hibernate(id, 2, []byte("state")))
	taken := b.put(t, b.receive(id, 1))
	w = b.write(id)
	w.Take, w.Receipts = []uint64{taken}, []journal.Receipt{{Origin: originOf(1), At: 1}}
	b.commit(t, w)
	b.put(t, b.receive(id, 2))
	b.finish(t, id, 50)
	return id
}

func testReplace(t *testing.T, b *bundle) {
	id, neighbour := b.lived(t, "k"), b.lived(t, "neighbour")
	before := b.load(t, id)
	w := b.startOver("k", before.Run, journal.RunID{1})
	b.commit(t, w)

	require.Equal(t, w.Start, b.load(t, id))
	require.Empty(t, b.entries(t, id))
	require.Empty(t, b.deferreds(t, id))
	require.Empty(t, b.inbox(t, id))
	b.requireSaved(t, id, nil)
	_, err := b.store.Published(b.ctx, b.chainKey(id))
	require.ErrorIs(t, err, journal.ErrNotFound)
	require.True(t, b.hasReceipt(t, id, 1), "what was answered stays so")

	want := *before
	want.Superseded = 1
	found, err := b.store.FindRun(b.ctx, id, before.Run)
	require.NoError(t, err)
	require.Equal(t, &want, found)
	require.Len(t, b.entriesOf(t, before.RunKey()), 2)
	require.Len(t, b.deferredsOf(t, before.Settlements()), 1)
	require.Equal(t, []int{2}, b.numbersOf(t, before.Receiver()))
	published, err := b.store.Published(b.ctx, before.ChainKey())
	require.NoError(t, err)
	require.Len(t, published.Attributes, 1)
	callee, err := b.store.Callee(b.ctx, journal.Caller{ID: id, Run: before.Run, Step: stepOf(1)})
	require.NoError(t, err)
	require.Equal(t, "callee of k", callee.Key)

	// It is neither listed nor found by its attributes, and the neighbour is as it was.
	require.Equal(t, []string{"neighbour"}, b.find(t, where("a", "=", number(1))))
	require.ElementsMatch(
		t, []string{"callee of k", "callee of neighbour", "neighbour", "k"},
		b.findIn(t, journal.Filter{Namespace: "default"}),
	)
	require.Empty(
		t,
		b.findIn(t, journal.Filter{
			Namespace: "default",
			State:     journal.Completed,
			Workflow:  "orders/Process",
			After:     journal.CursorOf(b.load(t, neighbour)),
		}),
	)
	require.Len(t, b.entries(t, neighbour), 2)
	require.Equal(t, []int{2}, b.numbers(t, neighbour))

	// The new run has all numbers and names for itself.
	w = b.write(id)
	w.Run, w.Entries = journal.RunID{1}, []journal.Entry{newEntry(1)}
	w.Receive = (&journal.Deferred{Name: "d", At: 2, Origin: journal.Origin{2}}).Message()
	b.commit(t, w)
	b.put(t, func() journal.Write { w := b.receive(id, 2); w.Run = journal.RunID{1}; return w }())
	require.Len(t, b.entriesOf(t, before.RunKey()), 2)
}

func testReplaceAnotherRun(t *testing.T, b *bundle) {
	id := b.start(t, newExecution("k"))
	first := journal.RunID(id)
	require.True(t, b.result(t, b.startOver("k", first, journal.RunID{1})).Existed, "it is not over")
	b.finish(t, id, 1)
	require.True(t, b.result(t, b.startOver("k", journal.RunID{9}, journal.RunID{1})).Existed, "it is another one")
	require.True(
		t, b.result(t, b.startOver("k", journal.RunID{}, journal.RunID{1})).Existed, "no one is to be replaced",
	)
	stale := b.startOver("k", first, journal.RunID{1})
	stale.Fence.Epoch--
	require.ErrorIs(t, b.result(t, stale).Err, journal.ErrFenced)
	require.Equal(t, first, b.load(t, id).Run)
	b.commit(t, b.startOver("k", first, journal.RunID{1}))
	require.True(t, b.result(t, b.startOver("k", first, journal.RunID{2})).Existed, "another was faster")
	require.Equal(t, journal.RunID{1}, b.load(t, id).Run)
	late := b.write(id)
	late.Receive = (&journal.Deferred{Name: "d"}).Message()
	require.ErrorIs(t, b.result(t, late).Err, journal.ErrNotFound, "the old run takes nothing any more")

	b.commit(t, b.startOver("gone", journal.RunID{9}, journal.RunID{1}))
	require.Equal(t, journal.RunID{1}, b.load(t, newExecution("gone").ID).Run, "there was none to replace")
}

// testReplaceInABatch has a batch write of runs before and after they are replaced.
func testReplaceInABatch(t *testing.T, b *bundle) {
	id, other := b.start(t, newExecution("k")), b.start(t, newExecution("other"))
	end := func(run journal.RunID) journal.Write {
		w := b.write(id)
		w.Run, w.Update = run, &journal.Update{State: journal.Completed, FinishedAt: 1}
		return w
	}
	entry := func(run journal.RunID) journal.Write {
		w := b.write(id)
		w.Run, w.Entries = run, []journal.Entry{newEntry(1)}
		return w
	}
	link := b.write(other)
	link.Link = &journal.Link{Step: stepOf(1), Callee: id, Chain: journal.RunID(id)}
	first, second, third := journal.RunID(id), journal.RunID{2}, journal.RunID{3}
	results, err := b.store.Commit(b.ctx, []journal.Write{
		entry(first), link, end(first), b.startOver("k", first, second), b.startOver("k", first, journal.RunID{9}),
		entry(second), entry(first),
		end(second), b.startOver("k", second, third), entry(third),
	})
	require.NoError(t, err)
	for i, r := range results {
		switch i {
		case 4:
			require.True(t, r.Existed, "it was replaced in front of it")
		case 6:
			require.ErrorIs(t, r.Err, journal.ErrNotFound)
		default:
			require.NoError(t, r.Err, "write %d", i)
			require.False(t, r.Existed, "write %d", i)
		}
	}
	require.Equal(t, third, b.load(t, id).Run)
	for _, run := range []journal.RunID{first, second, third} {
		require.Len(t, b.entriesOf(t, journal.KeyOf(id, run)), 1)
	}
	callee, err := b.store.Callee(b.ctx, callerOf(other, 1))
	require.NoError(t, err)
	require.Equal(t, first, callee.Run)
}

// testReplaceAtOnce has many restart an execution: one does, each time.
func testReplaceAtOnce(t *testing.T, b *bundle) {
	id := b.start(t, newExecution("k"))
	over := journal.RunID(id)
	for round := range byte(5) {
		b.finishRun(t, id, over, 1)
		var started atomic.Int32
		var group errgroup.Group
		for client := range byte(8) {
			group.Go(func() error {
				results, err := b.tryCommit(b.startOver("k", over, journal.RunID{1 + round, client}))
				if err != nil {
					return err
				}
				if !results[0].Existed {
					started.Add(1)
				}
				return results[0].Err
			})
		}
		require.NoError(t, group.Wait())
		require.EqualValues(t, 1, started.Load())
		over = b.load(t, id).Run
	}
	rows, err := b.store.Earlier(b.ctx, id, 0, 100)
	require.NoError(t, err)
	require.Len(t, rows, 5)
}

func testReplaceWithASignal(t *testing.T, b *bundle) {
	id := b.lived(t, "k")
	over := journal.RunID(id)
	with := func(n int) journal.Write {
		w := b.startOver("k", over, journal.RunID{1})
		w.Receive = newMessage(n)
		return w
	}
	require.True(t, b.result(t, with(1)).Existed, "the old run has taken it")
	require.True(t, b.result(t, with(2)).Existed, "it was sent to the old run")
	require.Equal(t, over, b.load(t, id).Run)
	b.put(t, with(3))
	require.Equal(t, []int{3}, b.numbers(t, id))
	require.Equal(t, []int{2}, b.numbersOf(t, journal.Receiver{ID: id, Chain: over}))
}

func testReplaceMalformed(t *testing.T, b *bundle) {
	id := b.start(t, newExecution("k"))
	b.finish(t, id, 1)
	for name, spoil := range map[string]func(*journal.Write){
		"no start":     func(w *journal.Write) { w.Start = nil },
		"the same run": func(w *journal.Write) { w.Replace = w.Run },
		"entries":      func(w *journal.Write) { w.Entries = []journal.Entry{newEntry(1)} },
		"deferreds": func(w *journal.Write) {
			w.Send = []journal.Sent{(&journal.Deferred{Name: "d"}).Message().SettleTo(w.Start)}
		},
		"receipts":  func(w *journal.Write) { w.Receipts = []journal.Receipt{{Origin: originOf(1)}} },
		"published": func(w *journal.Write) { w.Publish = &journal.Published{} },
	} {
		w := b.startOver("k", journal.RunID(id), journal.RunID{1})
		spoil(&w)
		require.Error(t, b.result(t, w).Err, name)
	}
	require.Equal(t, journal.RunID(id), b.load(t, id).Run)
}

// restarted returns an execution whose run is the last of so many: number n is RunID{n}.
func (b *bundle) restarted(t testing.TB, key string, runs byte) journal.ID {
	t.Helper()
	id := b.start(t, newExecution(key))
	over := journal.RunID(id)
	for n := byte(1); n < runs; n++ {
		b.finishRun(t, id, over, int64(n)*10)
		b.commit(t, b.startOver(key, over, journal.RunID{n}))
		over = journal.RunID{n}
	}
	return id
}

func testEarlierPages(t *testing.T, b *bundle) {
	id := b.restarted(t, "k", 6)
	b.restarted(t, "other", 2)
	var runs []journal.RunID
	var before uint64
	for {
		page, err := b.store.Earlier(b.ctx, id, before, 2)
		require.NoError(t, err)
		if len(page) == 0 {
			break
		}
		for _, e := range page {
			require.Equal(t, id, e.ID)
			require.Empty(t, e.Input)
			runs, before = append(runs, e.Run), e.Superseded
		}
	}
	require.Equal(t, []journal.RunID{{4}, {3}, {2}, {1}, journal.RunID(id)}, runs)
	none, err := b.store.Earlier(b.ctx, newExecution("missing").ID, 0, 2)
	require.NoError(t, err)
	require.Empty(t, none)
}

func testRequested(t *testing.T, b *bundle) {
	id := b.restarted(t, "k", 4)
	for n := byte(1); n < 4; n++ {
		e, err := b.store.Requested(b.ctx, id, journal.Origin{n})
		require.NoError(t, err)
		require.Equal(t, journal.RunID{n}, e.Run)
		require.NotEmpty(t, e.Input)
	}
	for _, request := range []journal.Origin{{9}, {}} {
		_, err := b.store.Requested(b.ctx, id, request)
		require.ErrorIs(t, err, journal.ErrNotFound)
	}
	_, err := b.store.Requested(b.ctx, newExecution("other").ID, journal.Origin{1})
	require.ErrorIs(t, err, journal.ErrNotFound)
}

// testReplacedCallee has steps come back to the run that they started or found, after another one has taken its place.
func testReplacedCallee(t *testing.T, b *bundle) {
	caller := b.start(t, newExecution("caller"))
	child := newExecution("child")
	child.Parent = callerOf(caller, 1)
	b.start(t, child)
	b.commit(t, b.continueAs(child.ID, journal.RunID{77})) // the chain tells, not the run
	w := b.write(caller)
	w.Link = &journal.Link{Step: stepOf(2), Callee: child.ID, Chain: journal.RunID(child.ID)}
	b.commit(t, w)
	b.finishRun(t, child.ID, journal.RunID{77}, 1)
	b.commit(t, b.startOver("child", journal.RunID{77}, journal.RunID{1}))
	for _, step := range []uint32{1, 2} {
		found, err := b.store.Callee(b.ctx, callerOf(caller, step))
		require.NoError(t, err)
		require.Equal(t, journal.RunID{77}, found.Run)
		require.Equal(t, journal.Failed, found.State)
	}
	w = b.write(caller)
	w.Link = &journal.Link{Step: stepOf(3), Callee: child.ID, Chain: journal.RunID(child.ID)}
	require.ErrorIs(t, b.result(t, w).Err, journal.ErrSwept, "nothing has come of the step: it looks again")
	require.Zero(t, b.sweep(t, 100, 10), "they may ask for it")
	b.finish(t, caller, 200)
	require.Equal(t, 1, b.sweep(t, 100, 10))
	require.True(t, b.exists(t, child.ID))
}

func testReplacedSwept(t *testing.T, b *bundle) {
	id := b.restarted(t, "k", 4) // over at 10, 20 and 30
	require.Equal(t, 2, b.sweep(t, 25, 10))
	rows, err := b.store.Earlier(b.ctx, id, 0, 10)
	require.NoError(t, err)
	require.Len(t, rows, 1)
	b.finishRun(t, id, journal.RunID{3}, 40)
	require.Equal(t, 2, b.sweep(t, 50, 10))
	require.False(t, b.exists(t, id))
}

func testReplaceSurvives(t *testing.T, b *bundle) {
	id := b.lived(t, "k")
	b.commit(t, b.startOver("k", journal.RunID(id), journal.RunID{1}))
	require.NoError(t, b.store.Close())
	b.open(t)
	require.Equal(t, journal.RunID{1}, b.load(t, id).Run)
	require.Len(t, b.entriesOf(t, journal.KeyOf(id, journal.RunID(id))), 2)
}

func (b *bundle) delete(id journal.ID, run journal.RunID) error {
	var superseded uint64
	if e, err := b.store.FindRun(b.ctx, id, run); err == nil {
		superseded = e.Superseded
	}
	return b.store.Delete(b.ctx, b.fences[id.Shard()], id, run, superseded)
}

func testDelete(t *testing.T, b *bundle) {
	id, neighbour := b.lived(t, "k"), b.lived(t, "neighbour")
	b.commit(t, b.startOver("k", journal.RunID(id), journal.RunID{1}))
	b.finishRun(t, id, journal.RunID{1}, 60)

	first := journal.KeyOf(id, journal.RunID(id))
	require.ErrorIs(
		t, b.store.Delete(b.ctx, b.fences[id.Shard()], id, first.Run, 0), journal.ErrNotFound,
		"it is not the current run any more",
	)
	require.ErrorIs(
		t, b.store.Delete(b.ctx, b.fences[id.Shard()], id, journal.RunID{1}, 1), journal.ErrNotFound,
		"it is the current run",
	)
	require.NoError(t, b.delete(id, first.Run))
	_, err := b.store.FindRun(b.ctx, id, first.Run)
	require.ErrorIs(t, err, journal.ErrNotFound)
	b.purge(t)
	require.Empty(t, b.entriesOf(t, first))
	require.Empty(t, b.deferredsOf(t, journal.SettlementsOf(id, first.Run)))
	require.True(t, b.exists(t, id))
	require.True(t, b.hasReceipt(t, id, 1))

	require.NoError(t, b.delete(id, journal.RunID{1}))
	require.False(t, b.exists(t, id))
	b.purge(t)
	require.False(t, b.hasReceipt(t, id, 1))
	require.ErrorIs(t, b.delete(id, journal.RunID{1}), journal.ErrNotFound)

	require.NoError(t, b.delete(neighbour, journal.RunID(neighbour)))
	b.purge(t)
	require.Empty(t, b.find(t, where("a", "=", number(1))))
	require.Empty(t, b.inbox(t, neighbour))
	require.Empty(t, b.deferreds(t, neighbour))
	b.start(t, newExecution("k"))
	require.Empty(t, b.entries(t, id), "the name is as good as new")
}

func testDeleteLong(t *testing.T, b *bundle) {
	id := b.start(t, newExecution("k"))
	const entries = journal.SweepEntries*2 + 5
	w := b.write(id)
	for seq := range uint64(entries) {
		w.Entries = append(w.Entries, newEntry(seq+1))
	}
	b.commit(t, w)
	b.finish(t, id, 1)
	require.NoError(t, b.delete(id, journal.RunID(id)))
	require.False(t, b.exists(t, id))
	b.purge(t)
	require.Empty(t, b.entries(t, id))
}

func testDeleteAnotherRun(t *testing.T, b *bundle) {
	id := b.start(t, newExecution("k"))
	require.ErrorIs(t, b.delete(id, journal.RunID(id)), journal.ErrNotFound, "it is not over")
	b.finish(t, id, 1)
	require.ErrorIs(t, b.delete(id, journal.RunID{1}), journal.ErrNotFound)
	err := b.delete(newExecution("missing").ID, journal.RunID{1})
	require.ErrorIs(t, err, journal.ErrNotFound)
	require.NotErrorIs(t, err, journal.ErrUndecided)
	stale := b.fences
	b.claim(t, "second")
	require.ErrorIs(t, b.store.Delete(b.ctx, stale[id.Shard()], id, journal.RunID(id), 0), journal.ErrFenced)
	require.True(t, b.exists(t, id))
}

// testDeletedCallee has steps of live runs learn that their callee was deleted.
func testDeletedCallee(t *testing.T, b *bundle) {
	caller, over := b.start(t, newExecution("caller")), b.start(t, newExecution("over"))
	for i, parent := range []journal.ID{caller, caller, over} {
		child := newExecution(fmt.Sprint("child ", i))
		child.Parent = callerOf(parent, uint32(i+1))
		b.start(t, child)
		b.finish(t, child.ID, 1)
	}
	aside := newExecution("child 1").ID
	b.commit(t, b.startOver("child 1", journal.RunID(aside), journal.RunID{1}))
	b.finish(t, over, 1)
	require.NoError(t, b.delete(newExecution("child 0").ID, journal.RunID(newExecution("child 0").ID)))
	require.NoError(t, b.delete(aside, journal.RunID(aside)))
	require.NoError(t, b.delete(newExecution("child 2").ID, journal.RunID(newExecution("child 2").ID)))
	for _, step := range []uint32{1, 2} {
		_, err := b.store.Callee(b.ctx, callerOf(caller, step))
		require.ErrorIs(t, err, journal.ErrSwept, "step %d", step)
	}
	_, err := b.store.Callee(b.ctx, callerOf(over, 3))
	require.ErrorIs(t, err, journal.ErrNotFound, "it asks no more")
}

// testDeleteHolder has retention go on with the rows held by a deleted run.
func testDeleteHolder(t *testing.T, b *bundle) {
	caller := b.start(t, newExecution("caller"))
	child := newExecution("child")
	child.Parent = callerOf(caller, 1)
	b.start(t, child)
	b.finish(t, child.ID, 1)
	require.Zero(t, b.sweep(t, 2, 10), "it is held now")
	b.finish(t, caller, 100)
	require.NoError(t, b.delete(caller, journal.RunID(caller)))
	require.Equal(t, 1, b.sweep(t, 2, 10))
}
