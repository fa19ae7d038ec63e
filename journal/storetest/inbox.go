package storetest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

var inboxTests = []test{
	{"RoundTrip", nil, testInboxRoundTrip},
	{"ReceivedOnce", nil, testReceivedOnce},
	{"ReceivedOnceInABatch", nil, testReceivedOnceInABatch},
	{"ReceiveWithStart", nil, testReceiveWithStart},
	{"MissingReceiver", nil, testReceiveMissing},
	{"Wakes", nil, testWakes},
	{"WakesInABatch", nil, testWakesInABatch},
	{"Arrivals", nil, testArrivals},
	{"ReceivedInFrontOfTheEnd", nil, testReceivedInFrontOfTheEnd},
	{"TakenWithWhatItCaused", nil, testTake},
	{"TakenOnce", nil, testTakenOnce},
	{"TakenAndReceived", nil, testTakenAndReceived},
	{"Receipts", nil, testReceipts},
	{"FullByCount", nil, testInboxFullByCount},
	{"FullByBytes", nil, testInboxFullByBytes},
	{"FullBeforeASweep", nil, testInboxFullBeforeASweep},
	{"SettledFull", nil, testSettledFull},
	{"Send", nil, testSend},
	{"SendInABatch", nil, testSendInABatch},
	{"SendIsBounded", nil, testSendBounded},
	{"SendIsBoundedByBytes", nil, testSendBoundedByBytes},
	{"Held", nil, testHold},
	{"HeldMissing", nil, testHoldMissing},
	{"HeldInABatch", nil, testHoldInABatch},
	{"StartWithMessages", nil, testStartWithMessages},
	{"ReceiptThere", nil, testReceiptThere},
	{"Pages", nil, testMessagesPaged},
	{"FindMessage", nil, testFindMessage},
	{"Receivers", nil, testReceivers},
	{"Results", nil, testResults},
	{"ResultsAreNotRefused", nil, testResultsAreNotRefused},
	{"LostResults", nil, testLostResults},
	{"Isolation", nil, testInboxIsolation},
	{"Malformed", nil, testInboxMalformed},
}

// originOf is the origin of the n-th message of a test.
func originOf(n int) (origin journal.Origin) {
	origin[0] = 0xa0
	binary.BigEndian.PutUint32(origin[4:], uint32(n))
	return origin
}

// newMessage is the n-th signal from outside.
func newMessage(n int) *journal.Message {
	m := &journal.Message{
		Envelope: journal.Envelope{Kind: journal.SignalMessage, Name: "paid", At: int64(n), Origin: originOf(n)},
		Value:    abi.MustMarshal(fmt.Sprint("message ", n)),
	}
	m.Bytes = len(m.Value)
	return m
}

// receive is a write of the n-th message.
func (b *bundle) receive(id journal.ID, n int) journal.Write {
	w := b.write(id)
	w.Receive = newMessage(n)
	return w
}

// entity begins a Write of an entity under the fence that was claimed.
func (b *bundle) entity(id journal.ID) journal.Write {
	return journal.Write{ID: id, Fence: b.fences[id.Shard()]}
}

// put commits a write that receives a message, and tells its position.
func (b *bundle) put(t testing.TB, w journal.Write) uint64 {
	t.Helper()
	result := b.result(t, w)
	require.NoError(t, result.Err)
	require.False(t, result.Existed)
	require.NotZero(t, result.Position)
	return result.Position
}

// inbox reads all messages, and requires that all ways to read them agree.
func (b *bundle) inbox(t testing.TB, id journal.ID) []journal.Message {
	t.Helper()
	return b.inboxOf(t, b.receiver(id))
}

func (b *bundle) inboxOf(t testing.TB, to journal.Receiver) []journal.Message {
	t.Helper()
	messages, more, err := b.store.Messages(b.ctx, to, 0, journal.PageLimit{Entries: 1 << 20, Bytes: 1 << 30})
	require.NoError(t, err)
	require.False(t, more)
	envelopes, err := b.store.Inbox(b.ctx, to, 0)
	require.NoError(t, err)
	require.Len(t, envelopes, len(messages))
	last := uint64(0)
	for i := range messages {
		require.Equal(t, messages[i].Envelope, envelopes[i])
		require.Greater(t, messages[i].Position, last)
		last = messages[i].Position
	}
	return messages
}

// numbers are the origins of the messages in an inbox, as numbers of newMessage.
func (b *bundle) numbers(t testing.TB, id journal.ID) (numbers []int) {
	t.Helper()
	return b.numbersOf(t, b.receiver(id))
}

func (b *bundle) numbersOf(t testing.TB, to journal.Receiver) (numbers []int) {
	t.Helper()
	for _, m := range b.inboxOf(t, to) {
		numbers = append(numbers, int(binary.BigEndian.Uint32(m.Origin[4:])))
	}
	return numbers
}

func testInboxRoundTrip(t *testing.T, b *bundle) {
	id := b.start(t, newExecution("k"))
	require.Empty(t, b.inbox(t, id))
	full := journal.Message{
		Envelope: journal.Envelope{
			Kind:       journal.CallMessage,
			Name:       "ключ 🚀 '\" \\ %",
			At:         -7,
			Bytes:      300,
			Origin:     journal.Origin{1, 255},
			Repeatable: true,
			From:       callerOf(newExecution("sender").ID, math.MaxUint32),
		},
		Value: bytes.Repeat([]byte{0, 0xff, 7}, 100),
	}
	empty, none := *newMessage(2), *newMessage(3)
	empty.Value, empty.Bytes = []byte{}, 0
	none.Value, none.Bytes = nil, 0
	large := *newMessage(4)
	large.Value = bytes.Repeat([]byte("cruster\x00"), abi.MaxPayload/8)
	large.Bytes = len(large.Value)
	var want []journal.Message
	for _, m := range []journal.Message{full, empty, none, large} {
		w := b.write(id)
		w.Receive = &m
		position := b.put(t, w)
		m.Position = position
		want = append(want, m)
		got, err := b.store.Message(b.ctx, b.receiver(id), position)
		require.NoError(t, err)
		require.Equal(t, &m, got)
	}
	require.Equal(t, want, b.inbox(t, id))
	other := newExecution("other").ID
	require.Empty(t, b.inbox(t, other))
	for name, read := range map[string]func() error{
		"another receiver": func() error {
			_, err := b.store.Message(b.ctx, b.receiver(other), want[0].Position)
			return err
		},
		"no such position": func() error {
			_, err := b.store.Message(b.ctx, b.receiver(id), want[3].Position+1)
			return err
		},
		"beyond int64": func() error { _, err := b.store.Message(b.ctx, b.receiver(id), math.MaxUint64); return err },
		"no receipt":   func() error { _, err := b.store.Receipt(b.ctx, id, full.Origin); return err },
	} {
		require.ErrorIs(t, read(), journal.ErrNotFound, name)
	}
	// An entity that has no row has an inbox as well.
	entity := journal.EntityID("default", "bank/Account", "ada")
	w := b.entity(entity)
	w.Receive = newMessage(1)
	require.Greater(t, b.put(t, w), want[3].Position, "one order for all")
	require.Equal(t, []int{1}, b.numbers(t, entity))
}

// testReceivedOnce repeats messages: while there is one, and while there is a receipt.
func testReceivedOnce(t *testing.T, b *bundle) {
	id := b.start(t, newExecution("k"))
	position := b.put(t, b.receive(id, 1))
	b.sleep(t, id, 50)
	again := b.receive(id, 1)
	again.Receive.Value, again.Receive.Name = []byte{1}, "other"
	again.Receive.Bytes = 1
	require.Equal(t, journal.Result{Existed: true}, b.result(t, again))
	again.Entries = []journal.Entry{newEntry(1)}
	again.Update = &journal.Update{State: journal.Failed, Interrupt: &journal.Interrupt{At: 1}}
	again.Send = []journal.Sent{{To: journal.EntityID("default", "bank/Account", "ada"), Message: *newMessage(9)}}
	again.Receipts = []journal.Receipt{{Origin: originOf(7)}}
	require.Equal(t, journal.Result{Existed: true}, b.result(t, again))
	nothing := func() {
		t.Helper()
		row := b.load(t, id)
		require.Equal(t, journal.Running, row.State)
		require.EqualValues(t, 50, row.WakeAt, "nor is it loaded")
		require.Nil(t, row.Interrupt)
		require.Empty(t, b.entries(t, id))
		require.Empty(t, b.deferreds(t, id))
		require.Empty(t, b.inbox(t, again.Send[0].To))
		_, err := b.store.Receipt(b.ctx, id, originOf(7))
		require.ErrorIs(t, err, journal.ErrNotFound)
	}
	nothing()
	require.Equal(t, []int{1}, b.numbers(t, id))

	take := b.write(id)
	take.Take, take.Receipts = []uint64{position}, []journal.Receipt{{Origin: originOf(1), At: 5}}
	b.commit(t, take)
	require.Equal(t, journal.Result{Existed: true}, b.result(t, again))
	require.Equal(t, journal.Result{Existed: true}, b.result(t, b.receive(id, 1)))
	nothing()
	require.Empty(t, b.inbox(t, id))

	// Without a receipt nothing tells it from a new one. Positions are not used again.
	second := b.put(t, b.receive(id, 2))
	require.Greater(t, second, position)
	take = b.write(id)
	take.Take = []uint64{second}
	b.commit(t, take)
	require.Greater(t, b.put(t, b.receive(id, 2)), second)

	// The origin of one receiver is nothing to another.
	other := b.start(t, newExecution("other"))
	b.put(t, b.receive(other, 1))
}

func testReceivedOnceInABatch(t *testing.T, b *bundle) {
	id, other := b.start(t, newExecution("k")), b.start(t, newExecution("other"))
	results, err := b.store.Commit(b.ctx, []journal.Write{
		b.receive(id, 1), b.receive(other, 1), b.receive(id, 1), b.receive(id, 2),
	})
	require.NoError(t, err)
	require.Equal(t, journal.Result{Existed: true}, results[2])
	require.Equal(t, []int{1, 2}, b.numbers(t, id))
	require.Equal(t, []int{1}, b.numbers(t, other))
	for i, at := range map[int]journal.ID{0: id, 1: other, 3: id} {
		require.NoError(t, results[i].Err)
		_, err := b.store.Message(b.ctx, b.receiver(at), results[i].Position)
		require.NoError(t, err)
	}
	// Messages taken in a batch are known to the writes behind it.
	take := b.write(id)
	take.Take, take.Receipts = []uint64{results[0].Position}, []journal.Receipt{{Origin: originOf(1)}}
	results, err = b.store.Commit(b.ctx, []journal.Write{take, b.receive(id, 1), b.receive(id, 3)})
	require.NoError(t, err)
	require.NoError(t, results[0].Err)
	require.Equal(t, journal.Result{Existed: true}, results[1])
	require.NotZero(t, results[2].Position)
	require.Equal(t, []int{2, 3}, b.numbers(t, id))
}

// testReceiveWithStart has an execution start with a message in its inbox, or receive nothing if it is there.
func testReceiveWithStart(t *testing.T, b *bundle) {
	e := newExecution("k")
	e.WakeAt = 99
	w := b.receive(e.ID, 1)
	w.Start = &e
	b.put(t, w)
	require.Equal(t, []int{1}, b.numbers(t, e.ID))
	require.Equal(t, journal.Now, b.load(t, e.ID).WakeAt)
	w = b.receive(e.ID, 2)
	w.Start = &e
	require.Equal(t, journal.Result{Existed: true}, b.result(t, w))
	require.Equal(t, []int{1}, b.numbers(t, e.ID))

	other := newExecution("other")
	first, second := b.receive(other.ID, 1), b.receive(other.ID, 2)
	first.Start, second.Start = &other, &other
	results, err := b.store.Commit(b.ctx, []journal.Write{first, second, b.receive(other.ID, 3)})
	require.NoError(t, err)
	require.NotZero(t, results[0].Position)
	require.Equal(t, journal.Result{Existed: true}, results[1])
	require.Greater(t, results[2].Position, results[0].Position)
	require.Equal(t, []int{1, 3}, b.numbers(t, other.ID))
}

func testReceiveMissing(t *testing.T, b *bundle) {
	id := b.start(t, newExecution("k"))
	missing := b.receive(newExecution("missing").ID, 1)
	earlier := b.receive(id, 1)
	earlier.Run[0] ^= 1
	for name, w := range map[string]journal.Write{"no execution": missing, "another run": earlier} {
		require.ErrorIs(t, b.result(t, w).Err, journal.ErrNotFound, name)
		require.Empty(t, b.inbox(t, w.ID), name)
		w.Receive, w.Receipts = nil, []journal.Receipt{{Origin: originOf(1)}}
		require.ErrorIs(t, b.result(t, w).Err, journal.ErrNotFound, name)
		_, err := b.store.Receipt(b.ctx, w.ID, originOf(1))
		require.ErrorIs(t, err, journal.ErrNotFound, name)
	}
}

func testTake(t *testing.T, b *bundle) {
	id := b.start(t, newExecution("k"))
	first, second := b.put(t, b.receive(id, 1)), b.put(t, b.receive(id, 2))
	w := b.write(id)
	w.Take = []uint64{second}
	w.Entries = []journal.Entry{newEntry(1)}
	w.Update = &journal.Update{State: journal.Running, WakeAt: 33, Arrivals: 2}
	w.Receipts = []journal.Receipt{{Origin: originOf(2), At: 5, Value: abi.Nil}}
	b.commit(t, w)
	require.Equal(t, []int{1}, b.numbers(t, id), "one by one, in any order")
	require.Len(t, b.entries(t, id), 1)
	require.EqualValues(t, 33, b.load(t, id).WakeAt, "to take is not to wake")
	_, err := b.store.Message(b.ctx, b.receiver(id), second)
	require.ErrorIs(t, err, journal.ErrNotFound)
	third := b.put(t, b.receive(id, 3))
	w = b.write(id)
	w.Take = []uint64{third, first}
	b.commit(t, w)
	require.Empty(t, b.inbox(t, id))
}

// testTakenOnce takes a missing message: the write fails whole, and alone.
func testTakenOnce(t *testing.T, b *bundle) {
	id, other := b.start(t, newExecution("k")), b.start(t, newExecution("other"))
	gone, here := b.put(t, b.receive(id, 1)), b.put(t, b.receive(id, 2))
	theirs := b.put(t, b.receive(other, 3))
	w := b.write(id)
	w.Take = []uint64{gone}
	b.commit(t, w)
	for name, positions := range map[string][]uint64{
		"taken before": {here, gone},
		"of another":   {theirs},
		"twice":        {here, here},
		"never there":  {here, theirs + 1000},
	} {
		bad := b.write(id)
		bad.Take = positions
		bad.Entries = []journal.Entry{newEntry(1)}
		bad.Update = &journal.Update{State: journal.Failed}
		bad.Receipts = []journal.Receipt{{Origin: originOf(2)}}
		bad.Send = []journal.Sent{{To: other, Message: *newMessage(9)}}
		good := b.write(other)
		good.Receive = (&journal.Deferred{Name: name}).Message()
		results, err := b.store.Commit(b.ctx, []journal.Write{bad, good})
		require.NoError(t, err, name)
		require.Error(t, results[0].Err, name)
		for _, known := range []error{
			journal.ErrFenced, journal.ErrNotFound, journal.ErrConflict, journal.ErrInboxFull,
		} {
			require.NotErrorIs(t, results[0].Err, known, name)
		}
		requireEffect(t, results[1], name)
		require.Equal(t, []int{2}, b.numbers(t, id), name)
		require.Equal(t, []int{3}, b.numbers(t, other), name)
		require.Empty(t, b.entries(t, id), name)
		require.Equal(t, journal.Running, b.load(t, id).State, name)
		_, err = b.store.Receipt(b.ctx, id, originOf(2))
		require.ErrorIs(t, err, journal.ErrNotFound, name)
	}
	// Of two in a batch the first has it.
	w.Take = []uint64{here}
	results, err := b.store.Commit(b.ctx, []journal.Write{w, w})
	require.NoError(t, err)
	require.NoError(t, results[0].Err)
	require.Error(t, results[1].Err)
}

// testTakenAndReceived takes a message and receives another one of its origin: whether that is there already is decided
// before anything of its write is taken, and write by write.
func testTakenAndReceived(t *testing.T, b *bundle) {
	entity := journal.EntityID("default", "bank/Account", "ada")
	for _, of := range []journal.Write{b.write(b.start(t, newExecution("k"))), b.entity(entity)} {
		received := of
		received.Receive = newMessage(1)
		taken, both := of, received
		taken.Take = []uint64{b.put(t, received)}
		both.Take = taken.Take
		require.Equal(t, journal.Result{Existed: true}, b.result(t, both), "it stands until the write takes effect")

		results, err := b.store.Commit(b.ctx, []journal.Write{received, taken})
		require.NoError(t, err)
		require.Equal(t, []journal.Result{{Existed: true}, {}}, results, "the repeated one comes first")
		require.Empty(t, b.inboxOf(t, of.Receiver()))

		taken.Take = []uint64{b.put(t, received)}
		results, err = b.store.Commit(b.ctx, []journal.Write{taken, received})
		require.NoError(t, err)
		require.False(t, results[1].Existed, "the repeated one comes second, and there is no receipt")
		require.Len(t, b.inboxOf(t, of.Receiver()), 1)
	}
}

func testReceipts(t *testing.T, b *bundle) {
	id := b.start(t, newExecution("k"))
	want := []journal.Receipt{
		{Origin: originOf(1), At: -3, Value: []byte{1, 2}},
		{
			Origin: originOf(2),
			From:   callerOf(newExecution("sender").ID, 7),
			At:     math.MaxInt64,
			Error:  abi.Errorf(abi.CodeActivityFailed, "no ✗"),
		},
		{Origin: originOf(3), Value: []byte{}},
		{Origin: journal.Origin{0, 0, 0, 0, 0, 1}, Value: bytes.Repeat([]byte("cruster\x00"), abi.MaxPayload/8)},
	}
	w := b.write(id)
	w.Receipts = want
	b.commit(t, w)
	for _, r := range want {
		got, err := b.store.Receipt(b.ctx, id, r.Origin)
		require.NoError(t, err)
		require.Equal(t, &r, got)
		_, err = b.store.Receipt(b.ctx, newExecution("other").ID, r.Origin)
		require.ErrorIs(t, err, journal.ErrNotFound)
	}
	entity := journal.EntityID("default", "bank/Account", "ada")
	good := b.entity(entity)
	good.Receipts = []journal.Receipt{want[0]}
	b.commit(t, good)
	for name, numbers := range map[string][]int{"left before": {9, 2}, "twice": {9, 9}} {
		bad := b.write(id)
		for _, n := range numbers {
			bad.Receipts = append(bad.Receipts, journal.Receipt{Origin: originOf(n), At: 99})
		}
		bad.Entries = []journal.Entry{newEntry(1)}
		good := b.write(id)
		good.Receive = (&journal.Deferred{Name: name}).Message()
		results, err := b.store.Commit(b.ctx, []journal.Write{bad, good})
		require.NoError(t, err, name)
		require.Error(t, results[0].Err, name)
		requireEffect(t, results[1], name)
		require.Empty(t, b.entries(t, id), name)
		_, err = b.store.Receipt(b.ctx, id, originOf(9))
		require.ErrorIs(t, err, journal.ErrNotFound, name)
		got, err := b.store.Receipt(b.ctx, id, originOf(2))
		require.NoError(t, err)
		require.Equal(t, &want[1], got, "the first stands")
	}
}

// testInboxIsolation puts every sort of bad write between good ones.
func testInboxIsolation(t *testing.T, b *bundle) {
	id, other := b.start(t, newExecution("k")), b.start(t, newExecution("other"))
	position := b.put(t, b.receive(id, 1))
	entity := journal.EntityID("default", "bank/Account", "ada")
	stale := b.receive(id, 2)
	stale.Fence.Epoch--
	staleEntity := b.entity(entity)
	staleEntity.Fence.Token[0] ^= 1
	staleEntity.Entity = &journal.Entity{ID: entity, Namespace: "default", Type: "bank/Account", Key: "ada"}
	staleEntity.Send = []journal.Sent{{To: other, Message: *newMessage(4)}}
	missing := b.write(id)
	missing.Take = []uint64{position + 100}
	taken := b.write(id)
	taken.Take = []uint64{position}
	good := b.entity(entity)
	good.Receive = newMessage(3)
	results, err := b.store.Commit(b.ctx, []journal.Write{
		b.receive(other, 1), stale, staleEntity, missing, b.receive(id, 1), taken, good,
	})
	require.NoError(t, err)
	require.NotZero(t, results[0].Position)
	require.Equal(t, journal.Result{Err: journal.ErrFenced}, results[1])
	require.Equal(t, journal.Result{Err: journal.ErrFenced}, results[2])
	require.Error(t, results[3].Err)
	require.Equal(t, journal.Result{Existed: true}, results[4])
	require.Equal(t, journal.Result{}, results[5])
	require.NotZero(t, results[6].Position)
	require.Empty(t, b.numbers(t, id))
	require.Equal(t, []int{1}, b.numbers(t, other))
	require.Equal(t, []int{3}, b.numbers(t, entity))
	_, err = b.store.Entity(b.ctx, entity)
	require.ErrorIs(t, err, journal.ErrNotFound)
}

func testInboxMalformed(t *testing.T, b *bundle) {
	id := b.start(t, newExecution("k"))
	entity := journal.EntityID("default", "bank/Account", "ada")
	for name, fill := range map[string]func(*journal.Write){
		"no kind": func(w *journal.Write) { w.Receive = newMessage(1); w.Receive.Kind = "" },
		"no origin": func(w *journal.Write) {
			w.Receive = newMessage(1)
			w.Receive.Origin = journal.Origin{}
		},
		"a position":          func(w *journal.Write) { w.Receive = newMessage(1); w.Receive.Position = 3 },
		"a wrong size":        func(w *journal.Write) { w.Receive = newMessage(1); w.Receive.Bytes++ },
		"no receiver":         func(w *journal.Write) { w.Send = []journal.Sent{{Message: *newMessage(1)}} },
		"sent without origin": func(w *journal.Write) { w.Send = []journal.Sent{{To: entity}} },
		"position 0":          func(w *journal.Write) { w.Take = []uint64{0} },
		"beyond int64":        func(w *journal.Write) { w.Take = []uint64{math.MaxInt64 + 1} },
		"receipt of nothing":  func(w *journal.Write) { w.Receipts = []journal.Receipt{{}} },
		"an entity with a run": func(w *journal.Write) {
			w.Entity = &journal.Entity{ID: id, Namespace: "n", Type: "t", Key: "k"}
		},
		"destroyed with a run": func(w *journal.Write) { w.Destroy = true },
		"another entity": func(w *journal.Write) {
			w.Run = journal.RunID{}
			w.Entity = &journal.Entity{ID: entity}
		},
		"an entity, no key": func(w *journal.Write) {
			w.Run, w.Entity = journal.RunID{}, &journal.Entity{ID: id, Namespace: "n", Type: "t"}
		},
		"entries without a run": func(w *journal.Write) {
			w.Run = journal.RunID{}
			w.Entries = []journal.Entry{newEntry(1)}
		},
	} {
		bad, good := b.write(id), b.write(id)
		fill(&bad)
		good.Receive = (&journal.Deferred{Name: name}).Message()
		results, err := b.store.Commit(b.ctx, []journal.Write{bad, good})
		require.NoError(t, err, name)
		require.Error(t, results[0].Err, name)
		requireEffect(t, results[1], name)
	}
	require.Empty(t, b.inbox(t, id))
	require.Empty(t, b.inbox(t, entity))
}
