package storetest

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

var parkedTests = []test{
	{"RoundTrip", nil, testPark},
	{"Missing", nil, testParkMissing},
	{"KnownByOrigin", nil, testParkedIsKnown},
	{"Drop", nil, testParkedDrop},
	{"InABatch", nil, testParkInABatch},
	{"List", nil, testParkedList},
	{"Nameless", nil, testParkedNameless},
	{"Bounded", nil, testParkedBounded},
	{"LeavesRoom", nil, testParkedLeavesRoom},
	{"Receivers", nil, testParkedReceivers},
	{"Fenced", nil, testParkFenced},
	{"Malformed", nil, testParkMalformed},
	{"Survives", needsDurable, testParkSurvives},
}

var ada = newEntity("bank/Account", "ada")

// parkedAt says that a message of an entity is parked.
func parkedAt(e journal.Entity, position uint64) journal.Parked {
	return journal.Parked{
		Position: position, Namespace: e.Namespace, Type: e.Type, Key: e.Key, At: 7, Attempts: 3,
		Reason: abi.Errorf(abi.CodeOperationCrashed, "it crashed ✗"),
	}
}

// receiveAt commits messages to an entity, and tells where they stand.
func (b *bundle) receiveAt(t testing.TB, e journal.Entity, numbers ...int) (positions []uint64) {
	t.Helper()
	for _, n := range numbers {
		w := b.entity(e.ID)
		w.Receive = newMessage(n)
		w.Receive.Repeatable = true
		positions = append(positions, b.put(t, w))
	}
	return positions
}

// park commits that messages of an entity are parked.
func (b *bundle) park(t testing.TB, e journal.Entity, positions ...uint64) {
	t.Helper()
	w := b.entity(e.ID)
	for _, position := range positions {
		w.Park = append(w.Park, parkedAt(e, position))
	}
	b.commit(t, w)
}

func (b *bundle) parked(t testing.TB, f journal.ParkedFilter) []journal.ParkedMessage {
	t.Helper()
	found, err := b.store.Parked(b.ctx, f)
	require.NoError(t, err)
	return found
}

// parkedPositions are the positions of the parked messages of an entity.
func (b *bundle) parkedPositions(t testing.TB, e journal.Entity) (positions []uint64) {
	t.Helper()
	for _, m := range b.parked(t, journal.ParkedFilter{Entity: e.ID}) {
		positions = append(positions, m.Position)
	}
	return positions
}

// testPark parks a message between others, and puts it back: it is where it was.
func testPark(t *testing.T, b *bundle) {
	at := b.receiveAt(t, ada, 1, 2, 3)
	before := b.inbox(t, ada.ID)
	b.park(t, ada, at[1])
	require.Equal(t, []int{1, 3}, b.numbers(t, ada.ID))
	to := journal.Receiver{ID: ada.ID}
	_, err := b.store.Message(b.ctx, to, at[1])
	require.ErrorIs(t, err, journal.ErrNotFound)
	found, err := b.store.FindMessage(b.ctx, to, before[1].Origin)
	require.NoError(t, err)
	require.Equal(t, &journal.FoundMessage{Envelope: before[1].Envelope, Parked: parkedAt(ada, at[1]).Reason}, found)
	page, more, err := b.store.Messages(b.ctx, to, at[0], journal.PageLimit{Entries: 1})
	require.NoError(t, err)
	require.False(t, more)
	require.Len(t, page, 1)
	require.Equal(
		t, []journal.ParkedMessage{{Entity: ada.ID, Parked: parkedAt(ada, at[1]), Message: before[1].Envelope}},
		b.parked(t, journal.ParkedFilter{}),
	)

	back := b.entity(ada.ID)
	back.Unpark = []uint64{at[1]}
	b.commit(t, back)
	require.Equal(t, before, b.inbox(t, ada.ID))
	require.Empty(t, b.parked(t, journal.ParkedFilter{}))
	b.park(t, ada, at[1], at[0]) // again
	require.Equal(t, []uint64{at[0], at[1]}, b.parkedPositions(t, ada))

	// It comes with all the rest of a write.
	w := b.replace(ada)
	w.Take, w.Unpark = []uint64{at[2]}, []uint64{at[0]}
	w.Receipts = []journal.Receipt{{Origin: originOf(3)}}
	w.Send = []journal.Sent{{To: newEntity("bank/Account", "bob").ID, Message: *newMessage(4)}}
	b.commit(t, w)
	require.Equal(t, []int{1}, b.numbers(t, ada.ID))
	require.Equal(t, []int{4}, b.numbers(t, w.Send[0].To))
	require.Equal(t, []uint64{at[1]}, b.parkedPositions(t, ada))
}

// testParkMissing parks, unparks and takes messages that are not there: the write fails whole, and
// alone.
func testParkMissing(t *testing.T, b *bundle) {
	at := b.receiveAt(t, ada, 1, 2)
	bob := newEntity("bank/Account", "bob")
	theirs := b.receiveAt(t, bob, 1)[0]
	b.park(t, ada, at[1])
	park := func(positions ...uint64) (parked []journal.Parked) {
		for _, position := range positions {
			parked = append(parked, parkedAt(ada, position))
		}
		return parked
	}
	for name, fill := range map[string]func(*journal.Write){
		"parked before":     func(w *journal.Write) { w.Park = park(at[1]) },
		"parked twice":      func(w *journal.Write) { w.Park = park(at[0], at[0]) },
		"of another":        func(w *journal.Write) { w.Park = park(at[0], theirs) },
		"never there":       func(w *journal.Write) { w.Park = park(theirs + 1000) },
		"parked and taken":  func(w *journal.Write) { w.Park, w.Take = park(at[0]), []uint64{at[0]} },
		"a parked is taken": func(w *journal.Write) { w.Take = []uint64{at[1]} },
		"not parked":        func(w *journal.Write) { w.Unpark = []uint64{at[0]} },
		"unparked twice":    func(w *journal.Write) { w.Unpark = []uint64{at[1], at[1]} },
		"unparked unknown":  func(w *journal.Write) { w.Unpark = []uint64{theirs + 1000} },
	} {
		bad := b.replace(ada)
		bad.Receipts = []journal.Receipt{{Origin: originOf(9)}}
		fill(&bad)
		good := b.entity(bob.ID)
		good.Receipts = []journal.Receipt{{Origin: journal.NewOrigin()}}
		results, err := b.store.Commit(b.ctx, []journal.Write{bad, good})
		require.NoError(t, err, name)
		require.Error(t, results[0].Err, name)
		require.NotErrorIs(t, results[0].Err, journal.ErrConflict, name)
		require.Equal(t, journal.Result{}, results[1], name)
		require.Equal(t, []int{1}, b.numbers(t, ada.ID), name)
		require.Equal(t, []uint64{at[1]}, b.parkedPositions(t, ada), name)
		_, err = b.store.Entity(b.ctx, ada.ID)
		require.ErrorIs(t, err, journal.ErrNotFound, name)
	}
}

// testParkedIsKnown repeats a message that is parked: it takes no effect, however it is sent.
func testParkedIsKnown(t *testing.T, b *bundle) {
	b.park(t, ada, b.receiveAt(t, ada, 1)...)
	again := b.entity(ada.ID)
	again.Receive = newMessage(1)
	require.Equal(t, journal.Result{Existed: true}, b.result(t, again))
	send := b.entity(newEntity("bank/Teller", "1").ID)
	send.Send = []journal.Sent{{To: ada.ID, Message: *newMessage(1)}, {To: ada.ID, Message: *newMessage(2)}}
	b.commit(t, send)
	require.Equal(t, []int{2}, b.numbers(t, ada.ID))
	require.Len(t, b.parkedPositions(t, ada), 1)
}

// testParkedDrop drops a parked message: a write that unparks and takes it, and leaves a receipt.
func testParkedDrop(t *testing.T, b *bundle) {
	at := b.receiveAt(t, ada, 1)
	b.park(t, ada, at...)
	drop := b.entity(ada.ID)
	drop.Unpark, drop.Take = at, at
	drop.Receipts = []journal.Receipt{{Origin: originOf(1), Error: abi.Errorf(abi.CodeOperationCrashed, "dropped")}}
	b.commit(t, drop)
	require.Empty(t, b.parked(t, journal.ParkedFilter{}))
	require.Empty(t, b.inbox(t, ada.ID))
	again := b.entity(ada.ID)
	again.Receive = newMessage(1)
	require.Equal(t, journal.Result{Existed: true}, b.result(t, again))
	require.Error(t, b.result(t, drop).Err)
}

// testParkInABatch has writes of a batch build on each other.
func testParkInABatch(t *testing.T, b *bundle) {
	at := b.receiveAt(t, ada, 1, 2)
	write := func(fill func(*journal.Write)) journal.Write {
		w := b.entity(ada.ID)
		fill(&w)
		return w
	}
	park := func(position uint64) journal.Write {
		return write(func(w *journal.Write) { w.Park = []journal.Parked{parkedAt(ada, position)} })
	}
	unpark := func(position uint64) journal.Write {
		return write(func(w *journal.Write) { w.Unpark = []uint64{position} })
	}
	take := write(func(w *journal.Write) { w.Take = at[:1] })
	receive := write(func(w *journal.Write) { w.Receive = newMessage(1) })
	results, err := b.store.Commit(b.ctx, []journal.Write{
		park(at[0]), park(at[0]), take, receive, unpark(at[0]), unpark(at[0]), park(at[0]), park(at[1]), unpark(at[0]),
		take, receive,
	})
	require.NoError(t, err)
	for i, fails := range []bool{false, true, true, false, false, true, false, false, false, false, false} {
		require.Equal(t, fails, results[i].Err != nil, "write %d: %v", i, results[i].Err)
	}
	require.True(t, results[3].Existed)
	require.False(t, results[10].Existed, "nothing tells it from a new one")
	require.Equal(t, []int{1}, b.numbers(t, ada.ID))
	require.Equal(t, at[1:], b.parkedPositions(t, ada))
}

func testParkedList(t *testing.T, b *bundle) {
	other := newEntity("bank/Account", "ž")
	elsewhere := ada
	elsewhere.Namespace, elsewhere.ID = "other", journal.EntityID("other", ada.Type, ada.Key)
	teller, cart := newEntity("bank/Teller", "1"), newEntity("shop/Cart", "1")
	all := []journal.Entity{ada, other, teller, cart, elsewhere} // in the order of the list
	var want []string
	for _, e := range all {
		for _, position := range b.receiveAt(t, e, 1, 2) {
			b.park(t, e, position)
			want = append(want, fmt.Sprint(e.Namespace, " ", e.Type, " ", e.Key, " ", position))
		}
	}
	for name, c := range map[string]struct {
		filter journal.ParkedFilter
		want   []string
	}{
		"all":          {journal.ParkedFilter{}, want},
		"namespace":    {journal.ParkedFilter{Namespace: "default"}, want[:8]},
		"deployment":   {journal.ParkedFilter{Namespace: "default", Type: "bank/"}, want[:6]},
		"type":         {journal.ParkedFilter{Namespace: "default", Type: "bank/Account"}, want[:4]},
		"another type": {journal.ParkedFilter{Namespace: "default", Type: "bank/Teller"}, want[4:6]},
		"entity":       {journal.ParkedFilter{Entity: other.ID}, want[2:4]},
		"no entity":    {journal.ParkedFilter{Entity: newEntity("bank/Account", "bob").ID}, nil},
		"no namespace": {journal.ParkedFilter{Namespace: "none"}, nil},
	} {
		for _, limit := range []int{1, 3, 100} {
			f, got := c.filter, []string(nil)
			for f.Limit = limit; ; {
				page := b.parked(t, f)
				for i := range page {
					m := &page[i]
					got = append(got, fmt.Sprint(m.Namespace, " ", m.Type, " ", m.Key, " ", m.Position))
					f.After = &m.Parked
				}
				if len(page) < limit {
					break
				}
			}
			require.Equal(t, c.want, got, "%s, pages of %d", name, limit)
		}
	}
	for name, f := range map[string]journal.ParkedFilter{
		"an id and a namespace": {Entity: ada.ID, Namespace: "default"},
		"an id and a type":      {Entity: ada.ID, Type: "bank/Account"},
		"a large page":          {Limit: 1001},
	} {
		_, err := b.store.Parked(b.ctx, f)
		require.Equal(t, abi.CodeBadRequest, abi.CodeOf(err), name)
	}
}

// testParkedNameless: a message that does not say which entity it is for is listed with the others of its entity, in
// the order of their positions.
func testParkedNameless(t *testing.T, b *bundle) {
	at := b.receiveAt(t, ada, 1, 2, 3)
	b.park(t, ada, at[0], at[2])
	nameless := parkedAt(journal.Entity{ID: ada.ID}, at[1])
	w := b.entity(ada.ID)
	w.Park = []journal.Parked{nameless}
	b.commit(t, w)
	found := b.parked(t, journal.ParkedFilter{Entity: ada.ID})
	require.Equal(t, at, b.parkedPositions(t, ada))
	require.Equal(t, nameless, found[1].Parked)
	require.Equal(t, ada.ID, found[1].Entity)
	behind := b.parked(t, journal.ParkedFilter{Entity: ada.ID, After: &found[0].Parked, Limit: 1})
	require.Equal(t, found[1:2], behind)
	require.Equal(t, found[2:], b.parked(t, journal.ParkedFilter{Entity: ada.ID, After: &behind[0].Parked}))
	drop := b.entity(ada.ID)
	drop.Unpark, drop.Take = at[1:2], at[1:2]
	b.commit(t, drop)
	require.Len(t, b.parked(t, journal.ParkedFilter{Entity: ada.ID}), 2)
}

// testParkedBounded: an entity with as many parked messages as it may have takes no more, and says
// so; its own messages are parked all the same.
func testParkedBounded(t *testing.T, b *bundle) {
	b.fill(t, ada.ID, journal.MaxParked+1, 0)
	messages := b.inbox(t, ada.ID)
	var positions []uint64
	for i := range messages {
		positions = append(positions, messages[i].Position)
	}
	b.park(t, ada, positions[:journal.MaxParked-1]...)
	b.receiveAt(t, ada, 1)
	b.park(t, ada, positions[journal.MaxParked-1])
	receive := b.entity(ada.ID)
	receive.Receive = newMessage(2)
	require.ErrorIs(t, b.result(t, receive).Err, journal.ErrInboxFull)
	send := b.entity(newEntity("bank/Teller", "1").ID)
	send.Send = []journal.Sent{{To: ada.ID, Message: *newMessage(2)}}
	require.ErrorIs(t, b.result(t, send).Err, journal.ErrInboxFull)
	known := b.entity(newEntity("bank/Teller", "1").ID)
	known.Send = []journal.Sent{
		{To: ada.ID, Message: *newMessage(1)}, {To: newEntity("bank/Account", "bob").ID, Message: *newMessage(1)},
	}
	b.commit(t, known)
	b.park(t, ada, positions[journal.MaxParked]) // also beyond the bound
	drop := b.entity(ada.ID)
	drop.Unpark, drop.Take = positions[:2], positions[:2]
	results, err := b.store.Commit(b.ctx, []journal.Write{receive, drop, receive, send})
	require.NoError(t, err)
	require.ErrorIs(t, results[0].Err, journal.ErrInboxFull)
	require.NoError(t, results[1].Err)
	require.NotZero(t, results[2].Position, "there is room again")
	require.NoError(t, results[3].Err)
	require.Equal(t, []int{1, 2}, b.numbers(t, ada.ID))
}

// testParkedLeavesRoom: parked messages do not count against the bounds of the inbox.
func testParkedLeavesRoom(t *testing.T, b *bundle) {
	b.fill(t, ada.ID, journal.MaxInbox, 0)
	receive := b.entity(ada.ID)
	receive.Receive = newMessage(1)
	require.ErrorIs(t, b.result(t, receive).Err, journal.ErrInboxFull)
	first := b.inbox(t, ada.ID)[0].Position
	b.park(t, ada, first)
	b.put(t, receive)
	back := b.entity(ada.ID)
	back.Unpark = []uint64{first}
	b.commit(t, back) // it was accepted before
	receive.Receive = newMessage(2)
	require.ErrorIs(t, b.result(t, receive).Err, journal.ErrInboxFull)
}

// testParkedReceivers: entities whose messages are all parked have nothing to do.
func testParkedReceivers(t *testing.T, b *bundle) {
	bob, eve := newEntity("bank/Account", "bob"), newEntity("bank/Account", "eve")
	b.park(t, ada, b.receiveAt(t, ada, 1, 2)...)
	b.receiveAt(t, bob, 1)
	b.park(t, eve, b.receiveAt(t, eve, 1)...)
	b.receiveAt(t, eve, 2)
	ids, err := b.store.Receivers(b.ctx, journal.ID{}, 10)
	require.NoError(t, err)
	require.ElementsMatch(t, []journal.ID{bob.ID, eve.ID}, ids)
}

func testParkFenced(t *testing.T, b *bundle) {
	at := b.receiveAt(t, ada, 1, 2)
	b.park(t, ada, at[0])
	for _, fill := range []func(*journal.Write){
		func(w *journal.Write) { w.Park = []journal.Parked{parkedAt(ada, at[1])} },
		func(w *journal.Write) { w.Unpark = at[:1] },
	} {
		stale := b.entity(ada.ID)
		stale.Fence.Epoch--
		fill(&stale)
		require.ErrorIs(t, b.result(t, stale).Err, journal.ErrFenced)
	}
	require.Equal(t, at[:1], b.parkedPositions(t, ada))
	require.Equal(t, []int{2}, b.numbers(t, ada.ID))
}

func testParkMalformed(t *testing.T, b *bundle) {
	id := b.start(t, newExecution("k"))
	position := b.put(t, b.receive(id, 1))
	for name, fill := range map[string]func(*journal.Write){
		"with a run":          func(w *journal.Write) { w.Park = []journal.Parked{parkedAt(ada, position)} },
		"unparked with a run": func(w *journal.Write) { w.Unpark = []uint64{position} },
		"no reason": func(w *journal.Write) {
			*w = b.entity(ada.ID)
			w.Park = []journal.Parked{{Position: 1}}
		},
		"position 0": func(w *journal.Write) { *w = b.entity(ada.ID); w.Park = []journal.Parked{parkedAt(ada, 0)} },
		"beyond int64": func(w *journal.Write) {
			*w = b.entity(ada.ID)
			w.Park = []journal.Parked{parkedAt(ada, math.MaxInt64+1)}
		},
		"unparked at 0": func(w *journal.Write) { *w = b.entity(ada.ID); w.Unpark = []uint64{0} },
	} {
		bad, good := b.write(id), b.write(id)
		fill(&bad)
		good.Receive = (&journal.Deferred{Name: name}).Message()
		results, err := b.store.Commit(b.ctx, []journal.Write{bad, good})
		require.NoError(t, err, name)
		require.Error(t, results[0].Err, name)
		requireEffect(t, results[1], name)
	}
	require.Equal(t, []int{1}, b.numbers(t, id))
}

func testParkSurvives(t *testing.T, b *bundle) {
	b.park(t, ada, b.receiveAt(t, ada, 1)...)
	b.receiveAt(t, ada, 2)
	before := b.parked(t, journal.ParkedFilter{})
	require.NoError(t, b.store.Close())
	b.open(t)
	require.Equal(t, before, b.parked(t, journal.ParkedFilter{}))
	require.Equal(t, []int{2}, b.numbers(t, ada.ID))
	b.claim(t, "second")
	back := b.entity(ada.ID)
	back.Unpark = []uint64{before[0].Position}
	b.commit(t, back)
	require.Equal(t, []int{1, 2}, b.numbers(t, ada.ID))
}
