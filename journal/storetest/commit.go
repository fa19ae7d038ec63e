package storetest

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

var commitTests = []test{
	{"StartRoundTrip", nil, testStartRoundTrip},
	{"StartIsIdempotent", nil, testStartIsIdempotent},
	{"EntriesRoundTrip", nil, testEntriesRoundTrip},
	{"EntriesArePagedByBytes", nil, testEntriesPagedByBytes},
	{"NilAndEmptyAreTold", nil, testNilAndEmpty},
	{"LargePayloads", nil, testLargePayloads},
	{"DuplicateSequence", nil, testDuplicateSequence},
	{"SameExecutionTwiceInABatch", nil, testSameExecutionTwice},
	{"Update", nil, testUpdate},
	{"MoveAndUpdateInABatch", nil, testMoveThenUpdate},
	{"MissingExecution", nil, testMissingExecution},
	{"StartWithDeferreds", nil, testStartWithDeferreds},
	{"SettleOnce", nil, testSettleOnce},
	{"InterruptFirstStands", nil, testInterruptFirstStands},
	{"EndedRunTakesNoEntries", nil, testEndedRunEntries},
	{"WhatIsWrittenOfAnEndedRun", nil, testEndedRun},
	{"BatchIsolation", nil, testBatchIsolation},
	{"MalformedWrites", nil, testMalformedWrites},
	{"EmptyBatch", nil, testEmptyBatch},
	{"CancelledContext", nil, testCancelledContext},
	{"ManyInOneBatch", nil, testManyInOneBatch},
}

func testStartRoundTrip(t *testing.T, b *bundle) {
	full := newExecution("ключ/日本 🚀 'quoted\" \\ %")
	full.Value, full.Error = []byte{
		1, 2,
	}, &abi.Error{Code: abi.CodePaused, Message: "why ✓", Hint: "h", Details: []byte{0xc0}, Type: "t", Retryable: true}
	full.State, full.WakeAt = journal.Paused, 77
	full.Interrupt = &journal.Interrupt{At: 3, Reason: "stop"}
	full.Parent = callerOf(journal.IDOf("default", "orders/Parent", "p"), math.MaxUint32)
	full.Waiting = journal.Waiting{Seq: math.MaxInt64, Steps: journal.StepSum{1, 255}}
	full.MovedAt = 12
	full.Pinned = journal.Pinned{Format: 7, Memory: 1 << 40, Seed: journal.RunID{3}, Time: -5}
	full.FinishedAt = 9
	for _, want := range []journal.Execution{newExecution("plain"), full} {
		b.start(t, want)
		require.Equal(t, &want, b.load(t, want.ID))
	}
}

func testStartIsIdempotent(t *testing.T, b *bundle) {
	first, second := newExecution("k"), newExecution("k")
	second.Input, second.Digest = []byte("other"), "sha256:02"
	b.start(t, first)
	w := b.write(second.ID)
	w.Start = &second
	w.Entries = []journal.Entry{newEntry(1)}
	w.Update = &journal.Update{State: journal.Failed, Interrupt: &journal.Interrupt{At: 1, Reason: "r"}}
	w.Receive = (&journal.Deferred{Name: "d", Value: abi.Nil}).Message()
	result := b.result(t, w)
	require.NoError(t, result.Err)
	require.True(t, result.Existed)
	require.Equal(t, &first, b.load(t, first.ID), "nothing of the second start takes effect")
	require.Empty(t, b.entries(t, first.ID))
	deferreds := b.deferreds(t, first.ID)
	require.Empty(t, deferreds)
}

func testEntriesRoundTrip(t *testing.T, b *bundle) {
	id := b.start(t, newExecution("k"))
	want := []journal.Entry{
		newEntry(1),
		{
			Seq: 2, Kind: journal.Attempt, At: -5, Attempts: 3, NextAt: math.MaxInt64, Turn: 9,
			Error: abi.Errorf(abi.CodeActivityFailed, "declined ✗"),
			Op:    journal.Op{Key: "k:ä", Kind: "activity", Name: "charge", Number: 7},
		},
		{Seq: 5, Kind: journal.Delivery, Value: []byte{}},
		{Seq: math.MaxInt64, Kind: journal.Delivery, Turn: math.MaxUint64, Value: bytes.Repeat([]byte{0, 0xff}, 300)},
	}
	w := b.write(id)
	w.Entries = want
	b.commit(t, w)

	got := b.entries(t, id)
	require.Len(t, got, len(want))
	for i := range want {
		require.Equal(t, abi.MustMarshal(want[i]), abi.MustMarshal(got[i]), "entry %d, byte for byte", want[i].Seq)
	}
	for _, page := range []struct {
		after uint64
		limit int
		want  []uint64
		more  bool
	}{
		{0, 2, []uint64{1, 2}, true},
		{2, 10, []uint64{5, math.MaxInt64}, false},
		{2, 2, []uint64{5, math.MaxInt64}, false},
		{3, 1, []uint64{5}, true},
		{math.MaxInt64, 10, nil, false},
		{math.MaxUint64, 10, nil, false},
	} {
		entries, more, err := b.store.Entries(b.ctx, b.runKey(id), page.after, journal.PageLimit{Entries: page.limit})
		require.NoError(t, err)
		var seqs []uint64
		for _, e := range entries {
			seqs = append(seqs, e.Seq)
		}
		require.Equal(t, page.want, seqs, "after %d, at most %d", page.after, page.limit)
		require.Equal(t, page.more, more, "after %d, at most %d", page.after, page.limit)
	}
	none, _, err := b.store.Entries(b.ctx, b.runKey(newExecution("other").ID), 0, journal.PageLimit{Entries: 10})
	require.NoError(t, err)
	require.Empty(t, none)
}

// testEntriesPagedByBytes reads a journal of small and of large entries: whatever they hold, a page is as small as it
// was asked for, or has one entry.
func testEntriesPagedByBytes(t *testing.T, b *bundle) {
	id := b.start(t, newExecution("k"))
	sizes := []int{10, 700 << 10, 700 << 10, abi.MaxPayload, abi.MaxPayload, 10, 20, 500 << 10, 500 << 10, 500 << 10}
	for i, size := range sizes {
		w := b.write(id)
		entry := newEntry(uint64(i + 1))
		entry.Value = bytes.Repeat([]byte{byte(i)}, size)
		w.Entries = []journal.Entry{entry}
		b.commit(t, w)
	}
	pages := func(limit journal.PageLimit) (lengths []int) {
		after := uint64(0)
		for more := true; more; {
			page, behind, err := b.store.Entries(b.ctx, b.runKey(id), after, limit)
			require.NoError(t, err)
			for _, en := range page {
				after++
				require.Equal(t, after, en.Seq)
				require.Len(t, en.Value, sizes[after-1])
			}
			lengths, more = append(lengths, len(page)), behind
		}
		require.EqualValues(t, len(sizes), after)
		return lengths
	}
	require.Equal(t, []int{2, 1, 1, 1, 4, 1}, pages(journal.PageLimit{}), "a MiB each, or one entry")
	require.Equal(t, []int{1, 1, 1, 1, 1, 2, 1, 1, 1}, pages(journal.PageLimit{Bytes: 600}))
	require.Equal(t, []int{3, 1, 3, 3}, pages(journal.PageLimit{Entries: 3, Bytes: 5 << 20}))
	require.Equal(t, []int{10}, pages(journal.PageLimit{Bytes: 1 << 30}))
	n := 0
	for en, err := range journal.Scan(b.ctx, b.store, b.runKey(id)) {
		require.NoError(t, err)
		n++
		require.EqualValues(t, n, en.Seq)
	}
	require.Len(t, sizes, n)
}

func testNilAndEmpty(t *testing.T, b *bundle) {
	for i, value := range [][]byte{nil, {}} {
		e := newExecution(fmt.Sprint(i))
		e.Input, e.Value = value, value
		id := b.start(t, e)
		require.Equal(t, &e, b.load(t, id), "input and value of a start")

		w := b.write(id)
		entry := newEntry(1)
		entry.Value = value
		w.Entries = []journal.Entry{entry}
		w.Update = &journal.Update{State: journal.Running, Value: value}
		b.commit(t, w)
		require.Equal(t, value, b.load(t, id).Value, "value of an update")
		require.Equal(t, value, b.entries(t, id)[0].Value, "value of an entry")
	}
}

func testLargePayloads(t *testing.T, b *bundle) {
	large := bytes.Repeat([]byte("cruster\x00"), abi.MaxBody/8)
	e := newExecution("large")
	e.Input = large
	id := b.start(t, e)
	w := b.write(id)
	entry := newEntry(1)
	entry.Value = large
	w.Entries = []journal.Entry{entry}
	w.Update = &journal.Update{State: journal.Completed, WakeAt: journal.Never, Value: large, FinishedAt: 3}
	b.commit(t, w)
	got := b.load(t, id)
	require.True(t, bytes.Equal(large, got.Input))
	require.True(t, bytes.Equal(large, got.Value))
	require.True(t, bytes.Equal(large, b.entries(t, id)[0].Value))
}

func testDuplicateSequence(t *testing.T, b *bundle) {
	id := b.start(t, newExecution("k"))
	w := b.write(id)
	w.Entries = []journal.Entry{newEntry(1), newEntry(2)}
	b.commit(t, w)

	for name, seqs := range map[string][]uint64{"taken before": {3, 2}, "twice in one write": {7, 7}} {
		w := b.write(id)
		for _, seq := range seqs {
			w.Entries = append(w.Entries, newEntry(seq))
		}
		w.Update = &journal.Update{State: journal.Failed, FinishedAt: 1}
		w.Receive = (&journal.Deferred{Name: "d"}).Message()
		result := b.result(t, w)
		require.Error(t, result.Err, name)
		require.NotErrorIs(t, result.Err, journal.ErrFenced, name)
		require.NotErrorIs(t, result.Err, journal.ErrNotFound, name)
		require.Len(t, b.entries(t, id), 2, name)
		require.Equal(t, journal.Running, b.load(t, id).State, name)
		deferreds := b.deferreds(t, id)
		require.Empty(t, deferreds, name)
	}
}

func testSameExecutionTwice(t *testing.T, b *bundle) {
	e := newExecution("k")
	first, second, third := b.write(e.ID), b.write(e.ID), b.write(e.ID)
	first.Start = &e
	first.Entries = []journal.Entry{newEntry(1)}
	second.Entries = []journal.Entry{newEntry(2)}
	second.Update = &journal.Update{State: journal.Running, WakeAt: 5}
	third.Start = &e
	results, err := b.store.Commit(b.ctx, []journal.Write{first, second, third})
	require.NoError(t, err)
	require.Equal(t, []journal.Result{{}, {}, {Existed: true}}, results, "each sees what those before it did")
	require.Len(t, b.entries(t, e.ID), 2)
	require.EqualValues(t, 5, b.load(t, e.ID).WakeAt)

	// The later of two updates stands; of two settlements the first.
	w1, w2 := b.write(e.ID), b.write(e.ID)
	w1.Update = &journal.Update{State: journal.Paused, WakeAt: 6}
	w1.Receive = (&journal.Deferred{Name: "d", At: 1}).Message()
	w2.Receive = (&journal.Deferred{Name: "d", At: 2}).Message()
	w2.Update = &journal.Update{State: journal.Running, WakeAt: 7}
	results, err = b.store.Commit(b.ctx, []journal.Write{w1, w2})
	require.NoError(t, err)
	requireEffect(t, results[0])
	require.Equal(t, journal.Result{Existed: true}, results[1])
	require.EqualValues(t, 6, b.load(t, e.ID).WakeAt)
}

func testUpdate(t *testing.T, b *bundle) {
	e := newExecution("k")
	id := b.start(t, e)
	w := b.write(id)
	w.Update = &journal.Update{
		State:      journal.Failed,
		WakeAt:     journal.Never,
		Value:      []byte("v"),
		Error:      abi.Errorf(abi.CodeWorkflowFailed, "no"),
		FinishedAt: 44,
	}
	b.commit(t, w)
	want := e
	want.State, want.WakeAt, want.FinishedAt = w.Update.State, w.Update.WakeAt, w.Update.FinishedAt
	want.Value, want.Error = w.Update.Value, w.Update.Error
	require.Equal(t, &want, b.load(t, id))

	w.Update = &journal.Update{State: journal.Running}
	b.commit(t, w)
	require.Equal(t, &e, b.load(t, id), "an update overwrites all its columns")
}

// An update that leaves the module as it is does not undo the move before it in the same batch.
func testMoveThenUpdate(t *testing.T, b *bundle) {
	id := b.start(t, newExecution("k"))
	move, update := b.write(id), b.write(id)
	move.Update = &journal.Update{State: journal.Running, Digest: "sha256:bb", MovedAt: 4}
	update.Update = &journal.Update{State: journal.Paused, WakeAt: journal.Never}
	results, err := b.store.Commit(b.ctx, []journal.Write{move, update})
	require.NoError(t, err)
	require.Equal(t, []journal.Result{{}, {}}, results)
	row := b.load(t, id)
	require.Equal(t, "sha256:bb", row.Digest)
	require.EqualValues(t, 4, row.MovedAt)
	require.Equal(t, journal.Paused, row.State)
}

func testMissingExecution(t *testing.T, b *bundle) {
	id := newExecution("missing").ID
	_, err := b.store.Load(b.ctx, id)
	require.ErrorIs(t, err, journal.ErrNotFound)
	for name, fill := range map[string]func(*journal.Write){
		"entries": func(w *journal.Write) { w.Entries = []journal.Entry{newEntry(1)} },
		"update":  func(w *journal.Write) { w.Update = &journal.Update{State: journal.Failed} },
		"settle":  func(w *journal.Write) { w.Receive = (&journal.Deferred{Name: "d"}).Message() },
	} {
		w := b.write(id)
		fill(&w)
		require.ErrorIs(t, b.result(t, w).Err, journal.ErrNotFound, name)
	}
	require.Empty(t, b.entries(t, id))
	deferreds := b.deferreds(t, id)
	require.Empty(t, deferreds)
}

// testStartWithDeferreds starts an execution that has settled deferreds from the start.
func testStartWithDeferreds(t *testing.T, b *bundle) {
	e := newExecution("k")
	e.Interrupt = &journal.Interrupt{At: 3, Reason: "enough"}
	settled := []journal.Deferred{
		{Name: "a", Value: abi.MustMarshal(true), At: 5, Origin: journal.Origin{1}},
		{Name: "b", Error: abi.Errorf(abi.CodeDeferredRejected, "no"), At: 6},
	}
	w := b.write(e.ID)
	w.Start, w.Entries, w.Send = &e, []journal.Entry{newEntry(1)}, []journal.Sent{
		settled[0].Message().SettleTo(&e), settled[1].Message().SettleTo(&e),
	}
	follows := b.write(e.ID)
	follows.Receive = (&journal.Deferred{Name: "a", Value: abi.Nil}).Message()
	results, err := b.store.Commit(b.ctx, []journal.Write{w, follows})
	require.NoError(t, err)
	require.Equal(t, []journal.Result{{}, {Existed: true}}, results)
	got := b.deferreds(t, e.ID)
	require.ElementsMatch(t, settled, got)
	require.Equal(t, &e, b.load(t, e.ID))

	w.Send = []journal.Sent{(&journal.Deferred{Name: "c", Value: abi.Nil}).Message().SettleTo(&e)}
	require.True(t, b.result(t, w).Existed)
	got = b.deferreds(t, e.ID)
	require.Len(t, got, 2, "nothing of it took effect")
}

func testSettleOnce(t *testing.T, b *bundle) {
	id := b.start(t, newExecution("k"))
	first := journal.Deferred{Name: "approval", Value: abi.MustMarshal(true), At: 5}
	w := b.write(id)
	w.Receive = first.Message()
	b.commit(t, w)

	again := b.write(id)
	again.Receive = (&journal.Deferred{
		Name: "approval", Error: abi.Errorf(abi.CodeDeferredRejected, "no"), At: 6,
	}).Message()
	again.Entries = []journal.Entry{newEntry(1)}
	again.Update = &journal.Update{State: journal.Failed, Interrupt: &journal.Interrupt{At: 1}}
	result := b.result(t, again)
	require.NoError(t, result.Err)
	require.True(t, result.Existed)
	require.Empty(t, b.entries(t, id))
	require.Equal(t, journal.Running, b.load(t, id).State)
	require.Nil(t, b.load(t, id).Interrupt)

	rejected := journal.Deferred{Name: "Other ü", Error: abi.Errorf(abi.CodeDeferredRejected, "no"), At: 6}
	w.Receive = rejected.Message()
	b.commit(t, w)
	deferreds := b.deferreds(t, id)
	require.ElementsMatch(t, []journal.Deferred{first, rejected}, deferreds)

	other := b.deferreds(t, newExecution("other").ID)
	require.Empty(t, other)
}

func testInterruptFirstStands(t *testing.T, b *bundle) {
	id := b.start(t, newExecution("k"))
	b.sleep(t, id, 70)
	require.Nil(t, b.load(t, id).Interrupt)
	for at := int64(1); at <= 2; at++ {
		w := b.write(id)
		w.Update = &journal.Update{
			State:     journal.Running,
			WakeAt:    70,
			Interrupt: &journal.Interrupt{At: at, Reason: fmt.Sprint("reason ", at)},
		}
		w.Entries = []journal.Entry{newEntry(uint64(at))}
		b.commit(t, w)
	}
	require.Equal(t, &journal.Interrupt{At: 1, Reason: "reason 1"}, b.load(t, id).Interrupt)
	require.Len(t, b.entries(t, id), 2, "the rest of the second write takes effect")
	b.sleep(t, id, 70)
	row := b.load(t, id)
	require.EqualValues(t, 1, row.Interrupt.At, "other updates leave it as it is")
	require.EqualValues(t, 70, row.WakeAt, "the owner has it in hand")
	other := b.start(t, newExecution("two in a batch"))
	first, second := b.write(other), b.write(other)
	first.Update = &journal.Update{State: journal.Running, Interrupt: &journal.Interrupt{At: 3}}
	second.Update = &journal.Update{State: journal.Running, Interrupt: &journal.Interrupt{At: 4}}
	results, err := b.store.Commit(b.ctx, []journal.Write{first, second})
	require.NoError(t, err)
	require.Equal(t, []journal.Result{{}, {}}, results)
	require.EqualValues(t, 3, b.load(t, other).Interrupt.At)
}

// testBatchIsolation puts every sort of bad write between good ones.
func testBatchIsolation(t *testing.T, b *bundle) {
	old := b.start(t, newExecution("old"))
	w := b.write(old)
	w.Entries = []journal.Entry{newEntry(1)}
	w.Receive = (&journal.Deferred{Name: "d"}).Message()
	b.commit(t, w)

	var writes []journal.Write
	good := func(key string) {
		e := newExecution(key)
		w := b.write(e.ID)
		w.Start = &e
		w.Entries = []journal.Entry{newEntry(1), newEntry(2)}
		writes = append(writes, w)
	}
	good("a")
	duplicate := b.write(old)
	duplicate.Entries = []journal.Entry{newEntry(2), newEntry(1)}
	duplicate.Update = &journal.Update{State: journal.Failed}
	fenced := b.write(old)
	fenced.Fence.Epoch--
	fenced.Update = &journal.Update{State: journal.Failed}
	missing := b.write(newExecution("missing").ID)
	missing.Update = &journal.Update{State: journal.Failed}
	settled := b.write(old)
	settled.Receive = (&journal.Deferred{Name: "d"}).Message()
	writes = append(writes, duplicate)
	good("b")
	writes = append(writes, fenced, missing)
	good("c")
	writes = append(writes, settled)

	results, err := b.store.Commit(b.ctx, writes)
	require.NoError(t, err)
	require.Len(t, results, len(writes))
	for _, i := range []int{0, 2, 5} {
		require.Equal(t, journal.Result{}, results[i], "good write %d", i)
		require.Len(t, b.entries(t, writes[i].ID), 2)
		b.load(t, writes[i].ID)
	}
	require.Error(t, results[1].Err)
	require.ErrorIs(t, results[3].Err, journal.ErrFenced)
	require.ErrorIs(t, results[4].Err, journal.ErrNotFound)
	require.Equal(t, journal.Result{Existed: true}, results[6])
	require.Len(t, b.entries(t, old), 1)
	require.Equal(t, journal.Running, b.load(t, old).State)
}

func testMalformedWrites(t *testing.T, b *bundle) {
	e := newExecution("k")
	id := b.start(t, e)
	other := newExecution("other")
	for name, fill := range map[string]func(*journal.Write){
		"start of another":  func(w *journal.Write) { w.Start = &other },
		"sequence number 0": func(w *journal.Write) { w.Entries = []journal.Entry{{Kind: journal.Delivery}} },
		"sequence number beyond int64": func(w *journal.Write) {
			w.Entries = []journal.Entry{{Kind: journal.Delivery, Seq: math.MaxInt64 + 1}}
		},
		"deferred without a name": func(w *journal.Write) { w.Receive = (&journal.Deferred{}).Message() },
		"no execution":            func(w *journal.Write) { w.ID = journal.ID{} },
	} {
		bad, good := b.write(id), b.write(id)
		fill(&bad)
		good.Receive = (&journal.Deferred{Name: name}).Message()
		results, err := b.store.Commit(b.ctx, []journal.Write{bad, good})
		require.NoError(t, err, name)
		require.Error(t, results[0].Err, name)
		requireEffect(t, results[1], name)
	}
	require.Empty(t, b.entries(t, id))
	_, err := b.store.Load(b.ctx, other.ID)
	require.ErrorIs(t, err, journal.ErrNotFound)
}

func testEmptyBatch(t *testing.T, b *bundle) {
	results, err := b.store.Commit(b.ctx, nil)
	require.NoError(t, err)
	require.Empty(t, results)
}

func testCancelledContext(t *testing.T, b *bundle) {
	ctx, cancel := context.WithCancel(b.ctx)
	cancel()
	e := newExecution("k")
	w := b.write(e.ID)
	w.Start = &e
	_, err := b.store.Commit(ctx, []journal.Write{w})
	require.Error(t, err)
	_, err = b.store.Load(b.ctx, e.ID)
	require.ErrorIs(t, err, journal.ErrNotFound)
}

func testManyInOneBatch(t *testing.T, b *bundle) {
	const n = 600
	writes := make([]journal.Write, n)
	for i := range writes {
		e := newExecution(fmt.Sprint("many ", i))
		e.Input = []byte(strings.Repeat("x", i))
		writes[i] = b.write(e.ID)
		writes[i].Start = &e
		writes[i].Entries = []journal.Entry{newEntry(1), newEntry(2)}
		writes[i].Receive = (&journal.Deferred{Name: "d", Value: []byte{byte(i)}}).Message()
		writes[i].Update = &journal.Update{State: journal.Running, Interrupt: &journal.Interrupt{At: int64(i)}}
	}
	results, err := b.store.Commit(b.ctx, writes)
	require.NoError(t, err)
	for i := range writes {
		requireEffect(t, results[i])
	}
	for _, i := range []int{0, 1, n / 2, n - 1} {
		e := b.load(t, writes[i].ID)
		require.Len(t, e.Input, i)
		require.Equal(t, int64(i), e.Interrupt.At)
		require.Len(t, b.entries(t, e.ID), 2)
	}
}
