package storetest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
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
	{"TakenWithWhatItCaused", nil, testTake},
	{"TakenOnce", nil, testTakenOnce},
	{"Receipts", nil, testReceipts},
	{"FullByCount", nil, testInboxFullByCount},
	{"FullByBytes", nil, testInboxFullByBytes},
	{"Send", nil, testSend},
	{"SendInABatch", nil, testSendInABatch},
	{"Pages", nil, testMessagesPaged},
	{"Receivers", nil, testReceivers},
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
	messages, more, err := b.store.Messages(b.ctx, id, 0, journal.PageLimit{Entries: 1 << 20, Bytes: 1 << 30})
	require.NoError(t, err)
	require.False(t, more)
	envelopes, err := b.store.Inbox(b.ctx, id, 0)
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
	for _, m := range b.inbox(t, id) {
		numbers = append(numbers, int(binary.BigEndian.Uint32(m.Origin[4:])))
	}
	return numbers
}

func testInboxRoundTrip(t *testing.T, b *bundle) {
	id := b.start(t, newExecution("k"))
	require.Empty(t, b.inbox(t, id))
	full := journal.Message{
		Envelope: journal.Envelope{
			Kind: journal.CallMessage, Name: "ключ 🚀 '\" \\ %", At: -7, Bytes: 300, Origin: journal.Origin{1, 255}, Repeatable: true,
		},
		From:  callerOf(newExecution("sender").ID, math.MaxUint32),
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
		got, err := b.store.Message(b.ctx, id, position)
		require.NoError(t, err)
		require.Equal(t, &m, got)
	}
	require.Equal(t, want, b.inbox(t, id))
	other := newExecution("other").ID
	require.Empty(t, b.inbox(t, other))
	for name, read := range map[string]func() error{
		"another receiver": func() error { _, err := b.store.Message(b.ctx, other, want[0].Position); return err },
		"no such position": func() error { _, err := b.store.Message(b.ctx, id, want[3].Position+1); return err },
		"beyond int64":     func() error { _, err := b.store.Message(b.ctx, id, math.MaxUint64); return err },
		"no receipt":       func() error { _, err := b.store.Receipt(b.ctx, id, full.Origin); return err },
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
	again.Update = &journal.Update{State: journal.Failed}
	again.Settle = &journal.Deferred{Name: "d"}
	again.Interrupt = &journal.Interrupt{At: 1}
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
	results, err := b.store.Commit(b.ctx, []journal.Write{b.receive(id, 1), b.receive(other, 1), b.receive(id, 1), b.receive(id, 2)})
	require.NoError(t, err)
	require.Equal(t, journal.Result{Existed: true}, results[2])
	require.Equal(t, []int{1, 2}, b.numbers(t, id))
	require.Equal(t, []int{1}, b.numbers(t, other))
	for i, at := range map[int]journal.ID{0: id, 1: other, 3: id} {
		require.NoError(t, results[i].Err)
		_, err := b.store.Message(b.ctx, at, results[i].Position)
		require.NoError(t, err)
	}
	// What is taken in a batch is known to what comes behind it.
	take := b.write(id)
	take.Take, take.Receipts = []uint64{results[0].Position}, []journal.Receipt{{Origin: originOf(1)}}
	results, err = b.store.Commit(b.ctx, []journal.Write{take, b.receive(id, 1), b.receive(id, 3)})
	require.NoError(t, err)
	require.NoError(t, results[0].Err)
	require.Equal(t, journal.Result{Existed: true}, results[1])
	require.NotZero(t, results[2].Position)
	require.Equal(t, []int{2, 3}, b.numbers(t, id))
}

// testReceiveWithStart has an execution start with a message in its inbox, or receive
// nothing if it is there.
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

// sleep sets the wake time of a running execution.
func (b *bundle) sleep(t testing.TB, id journal.ID, wakeAt int64) {
	t.Helper()
	w := b.write(id)
	w.Update = &journal.Update{State: journal.Running, WakeAt: wakeAt}
	b.commit(t, w)
}

// testWakes has settlements, interrupts and messages wake executions that run, and no
// others.
func testWakes(t *testing.T, b *bundle) {
	for name, fill := range map[string]func(*journal.Write){
		"settle":    func(w *journal.Write) { w.Settle = &journal.Deferred{Name: "d"} },
		"interrupt": func(w *journal.Write) { w.Interrupt = &journal.Interrupt{At: 1} },
		"receive":   func(w *journal.Write) { w.Receive = newMessage(1) },
		"all of them": func(w *journal.Write) {
			w.Settle, w.Interrupt, w.Receive = &journal.Deferred{Name: "d"}, &journal.Interrupt{At: 1}, newMessage(1)
		},
	} {
		for state, woken := range map[journal.State]bool{journal.Running: true, journal.Paused: false, journal.Completed: false} {
			before := newExecution(name + " before " + string(state))
			before.State, before.WakeAt = state, 70
			b.start(t, before)
			w := b.write(before.ID)
			fill(&w)
			b.commit(t, w)
			want := int64(70)
			if woken {
				want = journal.Now
			}
			require.Equal(t, want, b.load(t, before.ID).WakeAt, "%s, %s", name, state)

			// The update of the same write comes first.
			with := newExecution(name + " with " + string(state))
			with.WakeAt = 60
			b.start(t, with)
			w = b.write(with.ID)
			fill(&w)
			w.Update = &journal.Update{State: state, WakeAt: 70}
			b.commit(t, w)
			require.Equal(t, want, b.load(t, with.ID).WakeAt, "%s with an update, %s", name, state)
		}
	}
	// An interrupt that is not the first has it loaded all the same.
	id := b.start(t, newExecution("twice"))
	for range 2 {
		b.sleep(t, id, 80)
		w := b.write(id)
		w.Interrupt = &journal.Interrupt{At: 1}
		b.commit(t, w)
		require.Equal(t, journal.Now, b.load(t, id).WakeAt)
	}
}

// In a batch each write sees what those before it did.
func testWakesInABatch(t *testing.T, b *bundle) {
	id := b.start(t, newExecution("k"))
	update := b.write(id)
	update.Update = &journal.Update{State: journal.Running, WakeAt: 40}
	settle := b.write(id)
	settle.Settle = &journal.Deferred{Name: "d"}
	interrupt := b.write(id)
	interrupt.Interrupt = &journal.Interrupt{At: 1}
	n := 0
	for _, c := range []struct {
		name   string
		writes []journal.Write
		want   int64
	}{
		{"behind an update", []journal.Write{update, b.receive(id, 1)}, journal.Now},
		{"before an update", []journal.Write{b.receive(id, 2), update}, 40},
		{"repeated", []journal.Write{update, b.receive(id, 1)}, 40},
		{"a new one before, a repeated one behind", []journal.Write{b.receive(id, 3), update, b.receive(id, 1)}, 40},
		{"an interrupt before", []journal.Write{interrupt, update}, 40},
		{"an interrupt behind", []journal.Write{update, interrupt}, journal.Now},
		{"a settlement behind", []journal.Write{update, settle}, journal.Now},
		{"a repeated settlement", []journal.Write{update, settle}, 40},
	} {
		b.sleep(t, id, 50)
		other := b.start(t, newExecution(fmt.Sprint("other ", n)))
		b.sleep(t, other, 50)
		n++
		_, err := b.store.Commit(b.ctx, append(c.writes, b.receive(other, 1)))
		require.NoError(t, err)
		require.Equal(t, c.want, b.load(t, id).WakeAt, c.name)
		require.Equal(t, journal.Now, b.load(t, other).WakeAt, c.name)
	}
}

func testTake(t *testing.T, b *bundle) {
	id := b.start(t, newExecution("k"))
	first, second := b.put(t, b.receive(id, 1)), b.put(t, b.receive(id, 2))
	w := b.write(id)
	w.Take = []uint64{second}
	w.Entries = []journal.Entry{newEntry(1)}
	w.Update = &journal.Update{State: journal.Running, WakeAt: 33}
	w.Receipts = []journal.Receipt{{Origin: originOf(2), At: 5, Value: abi.Nil}}
	b.commit(t, w)
	require.Equal(t, []int{1}, b.numbers(t, id), "one by one, in any order")
	require.Len(t, b.entries(t, id), 1)
	require.EqualValues(t, 33, b.load(t, id).WakeAt, "to take is not to wake")
	_, err := b.store.Message(b.ctx, id, second)
	require.ErrorIs(t, err, journal.ErrNotFound)
	third := b.put(t, b.receive(id, 3))
	w = b.write(id)
	w.Take = []uint64{third, first}
	b.commit(t, w)
	require.Empty(t, b.inbox(t, id))
}

// testTakenOnce takes what is not there: the write fails whole, and alone.
func testTakenOnce(t *testing.T, b *bundle) {
	id, other := b.start(t, newExecution("k")), b.start(t, newExecution("other"))
	gone, here := b.put(t, b.receive(id, 1)), b.put(t, b.receive(id, 2))
	theirs := b.put(t, b.receive(other, 3))
	w := b.write(id)
	w.Take = []uint64{gone}
	b.commit(t, w)
	for name, positions := range map[string][]uint64{
		"taken before": {here, gone}, "of another": {theirs}, "twice": {here, here}, "never there": {here, theirs + 1000},
	} {
		bad := b.write(id)
		bad.Take = positions
		bad.Entries = []journal.Entry{newEntry(1)}
		bad.Update = &journal.Update{State: journal.Failed}
		bad.Receipts = []journal.Receipt{{Origin: originOf(2)}}
		bad.Send = []journal.Sent{{To: other, Message: *newMessage(9)}}
		good := b.write(other)
		good.Settle = &journal.Deferred{Name: name}
		results, err := b.store.Commit(b.ctx, []journal.Write{bad, good})
		require.NoError(t, err, name)
		require.Error(t, results[0].Err, name)
		for _, known := range []error{journal.ErrFenced, journal.ErrNotFound, journal.ErrConflict, journal.ErrInboxFull} {
			require.NotErrorIs(t, results[0].Err, known, name)
		}
		require.Equal(t, journal.Result{}, results[1], name)
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

func testReceipts(t *testing.T, b *bundle) {
	id := b.start(t, newExecution("k"))
	want := []journal.Receipt{
		{Origin: originOf(1), At: -3, Value: []byte{1, 2}},
		{Origin: originOf(2), From: callerOf(newExecution("sender").ID, 7), At: math.MaxInt64, Error: abi.Errorf(abi.CodeActivityFailed, "no ✗")},
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
		good.Settle = &journal.Deferred{Name: name}
		results, err := b.store.Commit(b.ctx, []journal.Write{bad, good})
		require.NoError(t, err, name)
		require.Error(t, results[0].Err, name)
		require.Equal(t, journal.Result{}, results[1], name)
		require.Empty(t, b.entries(t, id), name)
		_, err = b.store.Receipt(b.ctx, id, originOf(9))
		require.ErrorIs(t, err, journal.ErrNotFound, name)
		got, err := b.store.Receipt(b.ctx, id, originOf(2))
		require.NoError(t, err)
		require.Equal(t, &want[1], got, "the first stands")
	}
}

// fill sends so many messages to an inbox, for which no bound holds, numbered from 1000.
func (b *bundle) fill(t testing.TB, to journal.ID, n, bytesEach int) {
	t.Helper()
	sender := journal.EntityID("default", "bank/Teller", "fills")
	for from := 0; from < n; from += 2500 {
		w := b.entity(sender)
		for i := from; i < min(from+2500, n); i++ {
			m := *newMessage(1000 + i)
			m.Value, m.Bytes = make([]byte, bytesEach), bytesEach
			w.Send = append(w.Send, journal.Sent{To: to, Message: m})
		}
		b.commit(t, w)
	}
}

func testInboxFullByCount(t *testing.T, b *bundle) {
	id, other := b.start(t, newExecution("k")), b.start(t, newExecution("other"))
	b.fill(t, id, journal.MaxInbox-2, 0)
	// The bound is kept within a batch, too.
	results, err := b.store.Commit(b.ctx, []journal.Write{b.receive(id, 1), b.receive(id, 2), b.receive(id, 3), b.receive(other, 3), b.receive(id, 1)})
	require.NoError(t, err)
	require.NotZero(t, results[0].Position)
	require.NotZero(t, results[1].Position)
	require.ErrorIs(t, results[2].Err, journal.ErrInboxFull)
	require.NotZero(t, results[3].Position)
	require.Equal(t, journal.Result{Existed: true}, results[4], "one that was received is not refused")

	refused := b.receive(id, 4)
	refused.Entries = []journal.Entry{newEntry(1)}
	require.ErrorIs(t, b.result(t, refused).Err, journal.ErrInboxFull)
	require.Empty(t, b.entries(t, id), "nothing of it takes effect")
	take := b.write(id)
	take.Take = []uint64{results[0].Position}
	results, err = b.store.Commit(b.ctx, []journal.Write{b.receive(id, 5), take, b.receive(id, 6), b.receive(id, 7)})
	require.NoError(t, err)
	require.ErrorIs(t, results[0].Err, journal.ErrInboxFull)
	require.NotZero(t, results[2].Position, "there is room again")
	require.ErrorIs(t, results[3].Err, journal.ErrInboxFull)
	b.fill(t, id, journal.MaxInbox, 0)
	envelopes, err := b.store.Inbox(b.ctx, id, 0)
	require.NoError(t, err)
	require.Len(t, envelopes, journal.MaxInbox+2, "no bound holds for what is sent")
}

func testInboxFullByBytes(t *testing.T, b *bundle) {
	id := b.start(t, newExecution("k"))
	const each = 4 << 20
	b.fill(t, id, journal.MaxInboxBytes/each-1, each)
	sized := func(n, bytes int) journal.Write {
		w := b.receive(id, n)
		w.Receive.Value, w.Receive.Bytes = make([]byte, bytes), bytes
		return w
	}
	require.ErrorIs(t, b.result(t, sized(1, each+1)).Err, journal.ErrInboxFull)
	position := b.put(t, sized(1, each))
	require.ErrorIs(t, b.result(t, sized(2, 1)).Err, journal.ErrInboxFull)
	b.put(t, sized(2, 0))
	take := b.write(id)
	take.Take = []uint64{position}
	b.commit(t, take)
	b.put(t, sized(3, each))
}

func testSend(t *testing.T, b *bundle) {
	sender, ada, bob := journal.EntityID("default", "bank/Teller", "1"), journal.EntityID("default", "bank/Account", "ada"), journal.EntityID("default", "bank/Account", "bob")
	send := func(w journal.Write, to journal.ID, numbers ...int) journal.Write {
		for _, n := range numbers {
			w.Send = append(w.Send, journal.Sent{To: to, Message: *newMessage(n)})
		}
		return w
	}
	w := send(send(send(b.entity(sender), ada, 3, 1), bob, 1), ada, 2)
	w = send(w, sender, 5) // to itself
	w.Send[0].From, w.Send[0].Repeatable = callerOf(ada, 1), true
	require.Equal(t, journal.Result{}, b.result(t, w))
	require.Equal(t, []int{3, 1, 2}, b.numbers(t, ada))
	require.Equal(t, []int{1}, b.numbers(t, bob))
	require.Equal(t, []int{5}, b.numbers(t, sender))
	first := b.inbox(t, ada)[0]
	want := w.Send[0].Message
	want.Position = first.Position
	require.Equal(t, want, first)

	// One of an origin that is known is passed over, and matters to nothing else.
	take := b.entity(ada)
	take.Take, take.Receipts = []uint64{first.Position}, []journal.Receipt{{Origin: originOf(3)}}
	b.commit(t, take)
	w = send(b.entity(sender), ada, 3, 1, 4, 4)
	w.Receipts = []journal.Receipt{{Origin: originOf(8)}}
	require.Equal(t, journal.Result{}, b.result(t, w))
	require.Equal(t, []int{1, 2, 4}, b.numbers(t, ada))
	_, err := b.store.Receipt(b.ctx, sender, originOf(8))
	require.NoError(t, err)

	// It comes with all the rest of a write, of an execution too.
	id := b.start(t, newExecution("k"))
	w = send(b.write(id), bob, 6)
	w.Entries = []journal.Entry{newEntry(1)}
	b.commit(t, w)
	w = send(b.write(id), bob, 7)
	w.Entries = []journal.Entry{newEntry(1)} // that is taken
	require.Error(t, b.result(t, w).Err)
	require.Equal(t, []int{1, 6}, b.numbers(t, bob))
}

// Messages of a batch are in its order, whoever sends them.
func testSendInABatch(t *testing.T, b *bundle) {
	to := journal.EntityID("default", "bank/Account", "ada")
	var writes []journal.Write
	var want []int
	for n := range 20 {
		w := b.entity(journal.EntityID("default", "bank/Teller", fmt.Sprint(n)))
		if n%3 == 0 {
			w = b.entity(to)
			w.Receive = newMessage(n)
		} else {
			w.Send = []journal.Sent{{To: to, Message: *newMessage(n)}}
		}
		writes, want = append(writes, w), append(want, n)
	}
	results, err := b.store.Commit(b.ctx, writes)
	require.NoError(t, err)
	for _, r := range results {
		require.NoError(t, r.Err)
	}
	require.Equal(t, want, b.numbers(t, to))

	// Also if one of them is known, so that they decide about each other.
	results, err = b.store.Commit(b.ctx, append(writes[:4:4], func() journal.Write {
		w := b.entity(to)
		w.Receive = newMessage(20)
		w.Send = []journal.Sent{{To: to, Message: *newMessage(21)}, {To: to, Message: *newMessage(20)}}
		return w
	}()))
	require.NoError(t, err)
	require.Equal(t, journal.Result{Existed: true}, results[0])
	require.Equal(t, journal.Result{}, results[1])
	require.NotZero(t, results[4].Position)
	require.Equal(t, append(want, 20, 21), b.numbers(t, to))
}

func testMessagesPaged(t *testing.T, b *bundle) {
	id := b.start(t, newExecution("k"))
	sizes := []int{10, 700 << 10, 700 << 10, abi.MaxPayload, 0, 20, 500 << 10, 500 << 10}
	var positions []uint64
	for i, size := range sizes {
		w := b.receive(id, i)
		w.Receive.Value, w.Receive.Bytes = bytes.Repeat([]byte{byte(i)}, size), size
		positions = append(positions, b.put(t, w))
	}
	pages := func(limit journal.PageLimit) (lengths []int) {
		after, read := uint64(0), 0
		for more := true; more; {
			page, behind, err := b.store.Messages(b.ctx, id, after, limit)
			require.NoError(t, err)
			for _, m := range page {
				require.Equal(t, positions[read], m.Position)
				require.Len(t, m.Value, sizes[read])
				after = m.Position
				read++
			}
			lengths, more = append(lengths, len(page)), behind
		}
		require.Len(t, positions, read)
		return lengths
	}
	require.Equal(t, []int{2, 1, 1, 4}, pages(journal.PageLimit{}), "a MiB each, or one message")
	require.Equal(t, []int{1, 1, 1, 1, 2, 1, 1}, pages(journal.PageLimit{Bytes: 20}))
	require.Equal(t, []int{3, 3, 2}, pages(journal.PageLimit{Entries: 3, Bytes: 5 << 20}))
	require.Equal(t, []int{8}, pages(journal.PageLimit{Bytes: 1 << 30}))
	for after, want := range map[uint64]int{0: 8, positions[0]: 7, positions[6]: 1, positions[7]: 0, math.MaxInt64: 0, math.MaxUint64: 0} {
		envelopes, err := b.store.Inbox(b.ctx, id, after)
		require.NoError(t, err)
		require.Len(t, envelopes, want, "after %d", after)
		messages, more, err := b.store.Messages(b.ctx, id, after, journal.PageLimit{Bytes: 1 << 30})
		require.NoError(t, err)
		require.False(t, more)
		require.Len(t, messages, want, "after %d", after)
	}
}

func testReceivers(t *testing.T, b *bundle) {
	receivers := func(after journal.ID, limit int) []journal.ID {
		t.Helper()
		ids, err := b.store.Receivers(b.ctx, after, limit)
		require.NoError(t, err)
		return ids
	}
	require.Empty(t, receivers(journal.ID{}, 10))
	var ids []journal.ID
	w := b.entity(journal.EntityID("default", "bank/Teller", "1"))
	for i := range 40 {
		to := journal.EntityID("default", "bank/Account", fmt.Sprint(i))
		ids = append(ids, to)
		for n := range 1 + i%3 {
			w.Send = append(w.Send, journal.Sent{To: to, Message: *newMessage(n)})
		}
	}
	// Two of one shard, the first and the last of all.
	for _, id := range []journal.ID{{0, 1}, {0, 1, 0, 1}, {255, 255}, journal.ID(bytes.Repeat([]byte{255}, 16))} {
		ids = append(ids, id)
		w.Send = append(w.Send, journal.Sent{To: id, Message: *newMessage(1)})
	}
	b.commit(t, w)
	slices.SortFunc(ids, func(a, b journal.ID) int { return bytes.Compare(a[:], b[:]) })
	require.Equal(t, ids, receivers(journal.ID{}, 1000))
	require.Empty(t, receivers(journal.ID{}, 0))
	require.Empty(t, receivers(journal.ID{}, -1))
	var paged []journal.ID
	for after := (journal.ID{}); ; {
		page := receivers(after, 7)
		if len(page) == 0 {
			break
		}
		paged, after = append(paged, page...), page[len(page)-1]
	}
	require.Equal(t, ids, paged)
	between := ids[3]
	between[15]++ // no receiver's
	require.Equal(t, ids[4:], receivers(between, 1000))

	// One that has taken all has none.
	take := b.entity(ids[0])
	for _, m := range b.inbox(t, ids[0]) {
		take.Take = append(take.Take, m.Position)
		take.Receipts = append(take.Receipts, journal.Receipt{Origin: m.Origin})
	}
	b.commit(t, take)
	require.Equal(t, ids[1:], receivers(journal.ID{}, 1000))
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
	results, err := b.store.Commit(b.ctx, []journal.Write{b.receive(other, 1), stale, staleEntity, missing, b.receive(id, 1), taken, good})
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
		"no kind":              func(w *journal.Write) { w.Receive = newMessage(1); w.Receive.Kind = "" },
		"no origin":            func(w *journal.Write) { w.Receive = newMessage(1); w.Receive.Origin = journal.Origin{} },
		"a position":           func(w *journal.Write) { w.Receive = newMessage(1); w.Receive.Position = 3 },
		"a wrong size":         func(w *journal.Write) { w.Receive = newMessage(1); w.Receive.Bytes++ },
		"to nobody":            func(w *journal.Write) { w.Send = []journal.Sent{{Message: *newMessage(1)}} },
		"sent without origin":  func(w *journal.Write) { w.Send = []journal.Sent{{To: entity}} },
		"position 0":           func(w *journal.Write) { w.Take = []uint64{0} },
		"beyond int64":         func(w *journal.Write) { w.Take = []uint64{math.MaxInt64 + 1} },
		"receipt of nothing":   func(w *journal.Write) { w.Receipts = []journal.Receipt{{}} },
		"an entity with a run": func(w *journal.Write) { w.Entity = &journal.Entity{ID: id, Namespace: "n", Type: "t", Key: "k"} },
		"destroyed with a run": func(w *journal.Write) { w.Destroy = true },
		"another entity":       func(w *journal.Write) { w.Run = journal.RunID{}; w.Entity = &journal.Entity{ID: entity} },
		"an entity, no key": func(w *journal.Write) {
			w.Run, w.Entity = journal.RunID{}, &journal.Entity{ID: id, Namespace: "n", Type: "t"}
		},
		"entries without a run": func(w *journal.Write) { w.Run = journal.RunID{}; w.Entries = []journal.Entry{newEntry(1)} },
	} {
		bad, good := b.write(id), b.write(id)
		fill(&bad)
		good.Settle = &journal.Deferred{Name: name}
		results, err := b.store.Commit(b.ctx, []journal.Write{bad, good})
		require.NoError(t, err, name)
		require.Error(t, results[0].Err, name)
		require.Equal(t, journal.Result{}, results[1], name)
	}
	require.Empty(t, b.inbox(t, id))
	require.Empty(t, b.inbox(t, entity))
}
