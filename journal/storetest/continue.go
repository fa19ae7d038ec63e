package storetest

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

var continueTests = []test{
	{"RoundTrip", nil, testContinue},
	{"WhatStaysAndWhatGoes", nil, testContinueClears},
	{"OfAnotherRun", nil, testContinueAnotherRun},
	{"InABatch", nil, testContinueInABatch},
	{"FoundByCallers", nil, testContinuedCallee},
	{"CallerContinues", nil, testCallerContinues},
	{"Retention", nil, testContinueFrees},
	{"RetentionOfReceipts", nil, testContinueFreesReceipts},
	{"Malformed", nil, testContinueMalformed},
	{"OtherChain", nil, testOtherChain},
	{"WhileSettled", nil, testContinueWhileSettled},
	{"Survives", needsDurable, testContinueSurvives},
}

// continueAs is a write by which another run takes the place of the first.
func (b *bundle) continueAs(id journal.ID, next journal.RunID) journal.Write {
	w := b.write(id)
	w.Continue = &journal.Continuation{
		Run: next, Input: abi.MustMarshal("again"), Digest: "sha256:02", Pinned: journal.Pinned{Format: 3, Seed: next},
	}
	return w
}

func testContinue(t *testing.T, b *bundle) {
	e := newExecution("k")
	e.Parent, e.Pinned = callerOf(newExecution("parent").ID, 1), journal.Pinned{Memory: 5}
	id := b.start(t, e)
	w := b.write(id)
	w.Update = &journal.Update{
		State:     journal.Paused,
		WakeAt:    77,
		Value:     []byte("v"),
		Error:     abi.Errorf(abi.CodeHostFault, "x"),
		MovedAt:   4,
		Section:   stepOf(1),
		Waiting:   journal.Waiting{Seq: 3},
		Interrupt: &journal.Interrupt{At: 6, Reason: "stop"},
	}
	b.commit(t, w)
	want := b.load(t, id)
	for i, next := range []journal.RunID{{1}, {2}} {
		w := b.continueAs(id, next)
		w.Run, w.Chain = want.Run, want.Chain
		b.commit(t, w)
		want.Run, want.Continued = next, uint32(i+1)
		want.Input, want.Digest, want.Pinned = w.Continue.Input, "sha256:02", w.Continue.Pinned
		want.State, want.WakeAt, want.Value, want.Error, want.MovedAt = journal.Running, journal.Now, nil, nil, 0
		want.Section, want.Waiting = journal.StepID{}, journal.Waiting{}
		require.Equal(t, want, b.load(t, id))
	}
	require.Equal(t, e.Run, b.load(t, id).Chain)
	due, err := b.store.Due(b.ctx, 1, journal.Wake{}, 10)
	require.NoError(t, err)
	require.Equal(t, []journal.Wake{{ID: id}}, due)
}

func testContinueClears(t *testing.T, b *bundle) {
	id, callee := b.start(t, newExecution("k")), b.start(t, newExecution("callee"))
	neighbour := b.start(t, newExecution("neighbour"))
	for _, of := range []journal.ID{id, neighbour} {
		w := b.write(of)
		w.Entries, w.Link = []journal.Entry{
			newEntry(1), newEntry(2),
		}, &journal.Link{Step: stepOf(1), Callee: callee, Chain: journal.RunID(callee)}
		w.Publish = &journal.Published{Attributes: []journal.NamedAttribute{named("a", number(1))}}
		b.commit(t, w)
		w = b.write(of)
		w.Receive = (&journal.Deferred{Name: "d", At: 1, Origin: journal.Origin{1}}).Message()
		b.commit(t, w)
		b.commit(t, b.hibernate(of, 2, []byte("state")))
		first, second := b.put(t, b.receive(of, 1)), b.put(t, b.receive(of, 2))
		w = b.write(of)
		w.Hold, w.Take, w.Receipts = []uint64{second}, []uint64{first}, []journal.Receipt{{Origin: originOf(1), At: 1}}
		b.commit(t, w)
		b.put(t, b.receive(of, 3))
	}
	w := b.continueAs(id, journal.RunID{1})
	w.Receipts = []journal.Receipt{{Origin: originOf(9), At: 1}}
	b.commit(t, w)

	require.Empty(t, b.entries(t, id))
	require.Empty(t, b.deferreds(t, id))
	b.requireSaved(t, id, nil)
	b.purge(t)
	for _, run := range []journal.RunID{journal.RunID(id), {1}} {
		_, err := b.store.Callee(b.ctx, journal.Caller{ID: id, Run: run, Step: stepOf(1)})
		require.ErrorIs(t, err, journal.ErrNotFound)
	}
	require.Equal(t, map[int]bool{2: false, 3: false}, b.held(t, id), "it is delivered again")
	require.True(t, b.hasReceipt(t, id, 1))
	require.True(t, b.hasReceipt(t, id, 9))
	require.ElementsMatch(t, []string{"neighbour", "k"}, b.find(t, where("a", "=", number(1))))

	// The numbers are free again, and names.
	w = b.write(id)
	w.Run, w.Chain = journal.RunID{1}, journal.RunID(id)
	w.Entries, w.Receive = []journal.Entry{
		newEntry(1),
	}, (&journal.Deferred{Name: "d", At: 2, Origin: journal.Origin{2}}).Message()
	b.commit(t, w)

	require.Len(t, b.entries(t, neighbour), 2)
	require.Len(t, b.deferreds(t, neighbour), 1)
	require.Equal(t, map[int]bool{2: true, 3: false}, b.held(t, neighbour))
	b.requireSaved(t, neighbour, &journal.Hibernated{Seq: 2, Body: []byte("state")})
}

func testContinueAnotherRun(t *testing.T, b *bundle) {
	id := b.start(t, newExecution("k"))
	b.commit(t, b.continueAs(id, journal.RunID{1}))
	require.ErrorIs(t, b.result(t, b.continueAs(id, journal.RunID{2})).Err, journal.ErrNotFound, "the old run is over")
	missing := newExecution("missing").ID
	require.ErrorIs(t, b.result(t, b.continueAs(missing, journal.RunID{1})).Err, journal.ErrNotFound)
	for name, add := range map[string]func(*journal.Write){
		"entries":   func(w *journal.Write) { w.Entries = []journal.Entry{newEntry(1)} },
		"settles":   func(w *journal.Write) { w.Receive = (&journal.Deferred{Name: "d"}).Message() },
		"receives":  func(w *journal.Write) { w.Receive = newMessage(1) },
		"updates":   func(w *journal.Write) { w.Update = &journal.Update{State: journal.Failed} },
		"hibernate": func(w *journal.Write) { w.Hibernate = &journal.Hibernated{Seq: 1, Body: []byte("x")} },
	} {
		w := b.write(id)
		add(&w)
		require.ErrorIs(t, b.result(t, w).Err, journal.ErrNotFound, name)
	}
	require.Empty(t, b.entries(t, id))
	require.Empty(t, b.deferreds(t, id))
	require.Empty(t, b.inbox(t, id))
	require.Equal(t, journal.RunID{1}, b.load(t, id).Run)
}

// testContinueInABatch has a batch write of runs before and after they continue.
func testContinueInABatch(t *testing.T, b *bundle) {
	id, other := b.start(t, newExecution("k")), b.start(t, newExecution("other"))
	entry := func(run journal.RunID, seq uint64) journal.Write {
		w := b.write(id)
		w.Run, w.Chain, w.Entries = run, journal.RunID(id), []journal.Entry{newEntry(seq)}
		return w
	}
	next := func(from, to journal.RunID) journal.Write {
		w := b.continueAs(id, to)
		w.Run, w.Chain = from, journal.RunID(id)
		return w
	}
	first, second, third := journal.RunID(id), journal.RunID{2}, journal.RunID{3}
	settle := b.write(id)
	settle.Receive = (&journal.Deferred{Name: "d"}).Message()
	settled := settle
	settled.Run, settled.Chain = third, first
	results, err := b.store.Commit(b.ctx, []journal.Write{
		entry(first, 1), settle, b.receive(id, 1), next(first, second), entry(first, 2), next(second, third),
		b.receive(other, 1), entry(third, 1), settled, entry(second, 3),
	})
	require.NoError(t, err)
	for i, want := range []error{nil, nil, nil, nil, journal.ErrNotFound, nil, nil, nil, nil, journal.ErrNotFound} {
		require.ErrorIs(t, results[i].Err, want, "write %d", i)
		require.False(t, results[i].Existed, "write %d", i)
	}
	require.Len(t, b.entries(t, id), 1)
	require.Len(t, b.deferreds(t, id), 1)
	require.Equal(t, []int{1}, b.numbers(t, id))
	e := b.load(t, id)
	require.Equal(t, third, e.Run)
	require.Equal(t, first, e.Chain)
	require.EqualValues(t, 2, e.Continued)
}

// testOtherChain has writes name a chain that the run is not of, each alone and beside a write that names the right
// one. They put nothing into the inbox of that chain, and take nothing from it.
func testOtherChain(t *testing.T, b *bundle) {
	id := b.start(t, newExecution("k"))
	b.commit(t, b.continueAs(id, journal.RunID{1}))
	other := journal.Receiver{ID: id, Chain: journal.RunID{9}}
	neighbour := b.entity(newExecution("entity").ID)
	neighbour.Send = []journal.Sent{{To: id, Chain: other.Chain, Message: *newMessage(8)}}
	b.commit(t, neighbour)
	left, _, err := b.store.Messages(b.ctx, other, 0, journal.PageLimit{})
	require.NoError(t, err)
	require.Len(t, left, 1)
	for name, part := range map[string]func(w *journal.Write){
		"entries": func(w *journal.Write) { w.Entries = []journal.Entry{newEntry(1)} },
		"publish": func(w *journal.Write) { w.Publish = &journal.Published{At: 1} },
		"receive": func(w *journal.Write) { w.Receive = newMessage(1) },
		"settle":  func(w *journal.Write) { w.Receive = (&journal.Deferred{Name: "d"}).Message() },
		"take":    func(w *journal.Write) { w.Take = []uint64{left[0].Position} },
		"update":  func(w *journal.Write) { w.Update = &journal.Update{State: journal.Running, WakeAt: 77} },
	} {
		for _, chain := range []journal.RunID{other.Chain, {}} {
			w := b.write(id)
			w.Run, w.Chain = journal.RunID{1}, chain
			part(&w)
			require.ErrorIs(t, b.result(t, w).Err, journal.ErrNotFound, name)
			right := b.write(id)
			right.Run, right.Chain, right.Update = w.Run, journal.RunID(
				id,
			), &journal.Update{State: journal.Running, WakeAt: 5}
			results, err := b.store.Commit(b.ctx, []journal.Write{w, right})
			require.NoError(t, err)
			require.ErrorIs(t, results[0].Err, journal.ErrNotFound, name)
			require.NoError(t, results[1].Err, name)
		}
	}
	again, _, err := b.store.Messages(b.ctx, other, 0, journal.PageLimit{})
	require.NoError(t, err)
	require.Equal(t, left, again)
	require.Empty(t, b.inbox(t, id))
	require.Empty(t, b.entries(t, id))
	require.Empty(t, b.deferreds(t, id))
}

// testContinuedCallee has steps find the execution again that they started or found.
func testContinuedCallee(t *testing.T, b *bundle) {
	caller, found := b.start(t, newExecution("caller")), b.start(t, newExecution("found"))
	child := newExecution("child")
	child.Parent = callerOf(caller, 1)
	b.start(t, child)
	link := func(step uint32) journal.Write {
		w := b.write(caller)
		w.Link = &journal.Link{Step: stepOf(step), Callee: found, Chain: journal.RunID(found)}
		return w
	}
	b.commit(t, link(2))
	b.commit(t, b.continueAs(found, journal.RunID{1}))
	b.commit(t, b.continueAs(child.ID, journal.RunID{2}))
	b.commit(t, link(3)) // that saw the execution before it continued
	for step, id := range map[uint32]journal.ID{1: child.ID, 2: found, 3: found} {
		e, err := b.store.Callee(b.ctx, callerOf(caller, step))
		require.NoError(t, err)
		require.Equal(t, id, e.ID)
		require.EqualValues(t, 1, e.Continued)
	}
	// And retention leaves them.
	for id, run := range map[journal.ID]journal.RunID{found: {1}, child.ID: {2}} {
		w := b.write(id)
		w.Run, w.Chain = run, journal.RunID(id)
		w.Update = &journal.Update{State: journal.Completed, FinishedAt: 1}
		b.commit(t, w)
	}
	require.Zero(t, b.sweep(t, 2, 10))
	b.finish(t, caller, 1)
	require.Equal(t, 3, b.sweep(t, 2, 10))
	b.purge(t)
	_, err := b.store.Callee(b.ctx, callerOf(caller, 2))
	require.ErrorIs(t, err, journal.ErrNotFound)
}

// testCallerContinues has a run that ended by continuing keep nothing from retention.
func testCallerContinues(t *testing.T, b *bundle) {
	caller, found := b.start(t, newExecution("caller")), b.start(t, newExecution("found"))
	child := newExecution("child")
	child.Parent = callerOf(caller, 1)
	b.start(t, child)
	w := b.write(caller)
	w.Link = &journal.Link{Step: stepOf(2), Callee: found, Chain: journal.RunID(found)}
	b.commit(t, w)
	b.finish(t, found, 1)
	b.finish(t, child.ID, 1)
	require.Zero(t, b.sweep(t, 2, 10))
	b.commit(t, b.continueAs(caller, journal.RunID{1}))
	require.Equal(t, 2, b.sweep(t, 2, 10))
	require.True(t, b.exists(t, caller))
}

// testContinueFrees has a run that held many continue.
func testContinueFrees(t *testing.T, b *bundle) {
	caller := b.start(t, newExecution("caller"))
	const children = journal.SweepBatch + 5
	writes := make([]journal.Write, children)
	for i := range writes {
		child := newExecution(fmt.Sprint("child ", i))
		child.Parent, child.State, child.FinishedAt = callerOf(caller, uint32(i+1)), journal.Completed, 1
		writes[i] = b.write(child.ID)
		writes[i].Start = &child
	}
	_, err := b.store.Commit(b.ctx, writes)
	require.NoError(t, err)
	require.Zero(t, b.sweep(t, 2, 1000), "and all of them are held now")
	b.commit(t, b.continueAs(caller, journal.RunID{1}))
	require.Equal(t, children, b.sweep(t, 2, 1000))

	// The new run holds its children, and is swept in its turn.
	child := newExecution("another")
	child.Parent = journal.Caller{ID: caller, Run: journal.RunID{1}, Step: stepOf(1)}
	child.State, child.FinishedAt = journal.Completed, 1
	b.start(t, child)
	require.Zero(t, b.sweep(t, 2, 1000))
	w := b.write(caller)
	w.Run, w.Chain, w.Update = journal.RunID{1}, journal.RunID(
		caller,
	), &journal.Update{State: journal.Completed, FinishedAt: 1}
	b.commit(t, w)
	require.Equal(t, 2, b.sweep(t, 2, 1000)+b.sweep(t, 2, 1000))
}

func testContinueFreesReceipts(t *testing.T, b *bundle) {
	sender, entity := b.start(t, newExecution("sender")), journal.EntityID("default", "bank/Account", "ada")
	w := b.entity(entity)
	w.Receipts = []journal.Receipt{{Origin: originOf(1), From: callerOf(sender, 1), At: 1}}
	b.commit(t, w)
	require.Zero(t, b.sweepReceipts(t, 5, 10), "the run may ask for it")
	b.commit(t, b.continueAs(sender, journal.RunID{1}))
	require.Equal(t, 1, b.sweepReceipts(t, 5, 10), "the run is over, and its execution is not")
}

func testContinueMalformed(t *testing.T, b *bundle) {
	id, other := b.start(t, newExecution("k")), b.start(t, newExecution("other"))
	e := newExecution("k")
	for name, spoil := range map[string]func(*journal.Write){
		"no run":       func(w *journal.Write) { w.Continue.Run = journal.RunID{} },
		"the same run": func(w *journal.Write) { w.Continue.Run = w.Run },
		"an update":    func(w *journal.Write) { w.Update = &journal.Update{State: journal.Running} },
		"entries":      func(w *journal.Write) { w.Entries = []journal.Entry{newEntry(1)} },
		"a settlement": func(w *journal.Write) { w.Receive = (&journal.Deferred{Name: "d"}).Message() },
		"a link": func(w *journal.Write) {
			w.Link = &journal.Link{Step: stepOf(1), Callee: other, Chain: journal.RunID(other)}
		},
		"a saved state": func(w *journal.Write) { w.Hibernate = &journal.Hibernated{Body: []byte("x")} },
		"a start":       func(w *journal.Write) { w.Start = &e },
		"of an entity":  func(w *journal.Write) { w.Run = journal.RunID{} },
	} {
		w := b.continueAs(id, journal.RunID{1})
		spoil(&w)
		before := b.load(t, other)
		neighbour := b.continueAs(other, journal.RunID{9, byte(before.Continued)})
		neighbour.Run, neighbour.Chain = before.Run, before.Chain
		results, err := b.store.Commit(b.ctx, []journal.Write{neighbour, w})
		require.NoError(t, err)
		require.Error(t, results[1].Err, name)
		require.Equal(t, neighbour.Continue.Run, b.load(t, other).Run, "the neighbour was not affected")
	}
	require.Zero(t, b.load(t, id).Continued)
}

// testContinueWhileSettled has clients settle deferreds of a run while it continues. The
// settlements of a run are gone with it, and none is left to a run that it was not meant for.
func testContinueWhileSettled(t *testing.T, b *bundle) {
	id := b.start(t, newExecution("k"))
	const runs = 20
	var current atomic.Int32 // the run's number
	runOf := func(n int32) journal.RunID {
		if n == 0 {
			return journal.RunID(id)
		}
		return journal.RunID{byte(n)}
	}
	var group errgroup.Group
	for client := range 4 {
		group.Go(func() error {
			for i := 0; current.Load() < runs; i++ {
				n := current.Load()
				w := b.write(id)
				w.Run, w.Chain = runOf(n), runOf(0)
				w.Receive = (&journal.Deferred{
					Name: fmt.Sprint(client, " ", i), Origin: journal.Origin{byte(n)},
				}).Message()
				results, err := b.tryCommit(w)
				if err == nil && !errors.Is(results[0].Err, journal.ErrNotFound) {
					err = results[0].Err
				}
				if err != nil {
					return err
				}
			}
			return nil
		})
	}
	group.Go(func() error {
		defer current.Store(runs)
		for n := range int32(runs) {
			w := b.continueAs(id, runOf(n+1))
			w.Run, w.Chain = runOf(n), runOf(0)
			results, err := b.tryCommit(w)
			if err == nil {
				err = results[0].Err
			}
			if err != nil {
				return err
			}
			// The settlements of the runs before are gone by now, and the settlements of this one begin.
			settled, err := journal.ListSettlements(b.ctx, b.store, journal.SettlementsOf(id, runOf(n+1)))
			if err != nil || len(settled) > 0 {
				return errors.Join(err, fmt.Errorf("run %d begins with %+v", n+1, settled))
			}
			current.Store(n + 1)
		}
		return nil
	})
	require.NoError(t, group.Wait())
}

func testContinueSurvives(t *testing.T, b *bundle) {
	id := b.start(t, newExecution("k"))
	w := b.write(id)
	w.Entries = []journal.Entry{newEntry(1)}
	b.commit(t, w)
	b.commit(t, b.publish(id, named("a", number(1))))
	b.commit(t, b.continueAs(id, journal.RunID{1}))
	e, step := newEntity("bank/Account", "ada"), journal.Caller{ID: id, Run: journal.RunID{1}, Step: stepOf(1)}
	b.enter(t, step)
	b.commit(t, b.lock(e, step))
	before := b.load(t, id)
	require.NoError(t, b.store.Close())
	b.open(t)
	require.Equal(t, before, b.load(t, id))
	require.Empty(t, b.entries(t, id))
	require.Len(t, b.locks(t, "", 10), 1)
	require.Equal(t, []string{"k"}, b.find(t, where("a", "=", number(1))))
}
