package storetest

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// sleep sets the wake time of a running execution whose owner knows of all that has arrived.
func (b *bundle) sleep(t testing.TB, id journal.ID, wakeAt int64) {
	t.Helper()
	w := b.write(id)
	w.Update = &journal.Update{State: journal.Running, WakeAt: wakeAt, Arrivals: b.load(t, id).Arrivals}
	b.commit(t, w)
}

// testWakes has messages wake executions that run, and no others.
func testWakes(t *testing.T, b *bundle) {
	for name, fill := range map[string]func(*journal.Write){
		"settle":  func(w *journal.Write) { w.Receive = (&journal.Deferred{Name: "d"}).Message() },
		"receive": func(w *journal.Write) { w.Receive = newMessage(1) },
	} {
		for state, woken := range map[journal.State]bool{journal.Running: true, journal.Paused: false} {
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
			row := b.load(t, before.ID)
			require.Equal(t, want, row.WakeAt, "%s, %s", name, state)
			require.EqualValues(t, 1, row.Arrivals, "%s, %s", name, state)

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
}

// In a batch each write sees the effects of earlier ones.
func testWakesInABatch(t *testing.T, b *bundle) {
	id := b.start(t, newExecution("k"))
	update := b.write(id)
	update.Update = &journal.Update{State: journal.Running, WakeAt: 40}
	settle := b.write(id)
	settle.Receive = (&journal.Deferred{Name: "d"}).Message()
	n := 0
	for _, c := range []struct {
		name   string
		writes []journal.Write
		want   int64
	}{
		{"behind an update", []journal.Write{update, b.receive(id, 1)}, journal.Now},
		{"before an update", []journal.Write{b.receive(id, 2), update}, journal.Now},
		{"repeated", []journal.Write{update, b.receive(id, 1)}, 40},
		{
			"a new one before, a repeated one behind",
			[]journal.Write{b.receive(id, 3), update, b.receive(id, 1)},
			journal.Now,
		},
		{"between updates", []journal.Write{update, b.receive(id, 4), update}, journal.Now},
		{"two before an update", []journal.Write{b.receive(id, 5), b.receive(id, 6), update}, journal.Now},
		{"a settlement behind", []journal.Write{update, settle}, journal.Now},
		{"a repeated settlement", []journal.Write{update, settle}, 40},
	} {
		b.sleep(t, id, 50)
		other := b.start(t, newExecution(fmt.Sprint("other ", n)))
		b.sleep(t, other, 50)
		n++
		update.Update.Arrivals = b.load(t, id).Arrivals
		_, err := b.store.Commit(b.ctx, append(c.writes, b.receive(other, 1)))
		require.NoError(t, err)
		require.Equal(t, c.want, b.load(t, id).WakeAt, c.name)
		require.Equal(t, journal.Now, b.load(t, other).WakeAt, c.name)
	}
}

// testArrivals has an owner set wake times beside messages that it does not know of: the execution is loaded for each.
func testArrivals(t *testing.T, b *bundle) {
	id := b.start(t, newExecution("k"))
	receive := func(n int) {
		t.Helper()
		b.put(t, b.receive(id, n))
	}
	update := func(state journal.State, arrivals uint64) *journal.Execution {
		t.Helper()
		w := b.write(id)
		w.Update = &journal.Update{State: state, WakeAt: 40, Arrivals: arrivals}
		b.commit(t, w)
		return b.load(t, id)
	}
	receive(1)
	receive(2)
	require.Equal(t, journal.Now, update(journal.Running, 0).WakeAt)
	require.Equal(t, journal.Now, update(journal.Running, 1).WakeAt)
	row := update(journal.Running, 2)
	require.EqualValues(t, 40, row.WakeAt, "it knows of both")
	require.EqualValues(t, 2, row.Arrivals)

	require.Equal(t, journal.Result{Existed: true}, b.result(t, b.receive(id, 2)))
	require.EqualValues(t, 2, b.load(t, id).Arrivals, "a repeat does not count")

	require.EqualValues(t, 40, update(journal.Paused, 0).WakeAt, "it is not loaded while it is paused")
	receive(3)
	require.EqualValues(t, 3, b.load(t, id).Arrivals)
	require.Equal(t, journal.Now, update(journal.Running, 2).WakeAt, "it came in the pause")

	settle := b.write(id)
	settle.Receive = (&journal.Deferred{Name: "d"}).Message()
	result := b.write(id)
	result.Send = []journal.Sent{
		journal.ResultTo(
			b.receiver(id), originOf(9), journal.Caller{ID: id}, 1, abi.MustMarshal(&abi.Outcome{Value: abi.Nil}),
		),
	}
	b.commit(t, settle)
	b.commit(t, result)
	require.EqualValues(t, 4, b.load(t, id).Arrivals, "a result is none: its row says that it was not taken")

	next := b.write(id)
	next.Continue = &journal.Continuation{Run: journal.NewRunID(), Digest: "d"}
	b.commit(t, next)
	require.EqualValues(t, 4, b.load(t, id).Arrivals, "a run that continues another goes on with its count")
}

// testReceivedInFrontOfTheEnd has a message come before and after the end of a run, in a batch and alone.
func testReceivedInFrontOfTheEnd(t *testing.T, b *bundle) {
	for _, together := range []bool{false, true} {
		id := b.start(t, newExecution(fmt.Sprint("k ", together)))
		end := b.write(id)
		end.Update = &journal.Update{State: journal.Completed, WakeAt: journal.Never, FinishedAt: 9}
		writes := []journal.Write{b.receive(id, 1), end, b.receive(id, 2), b.receive(id, 1)}
		var results []journal.Result
		if together {
			var err error
			results, err = b.store.Commit(b.ctx, writes)
			require.NoError(t, err)
		} else {
			for _, w := range writes {
				one, err := b.store.Commit(b.ctx, []journal.Write{w})
				require.NoError(t, err)
				results = append(results, one...)
			}
		}
		require.NoError(t, results[0].Err)
		require.NoError(t, results[1].Err)
		require.ErrorIs(t, results[2].Err, journal.ErrNotFound, "a run that is over receives nothing")
		require.True(t, results[3].Existed, "it is there")
		require.Equal(t, []int{1}, b.numbersOf(t, b.receiver(id)))
		require.EqualValues(t, 1, b.load(t, id).Arrivals)
		require.Equal(t, journal.Never, b.load(t, id).WakeAt)
	}
}
