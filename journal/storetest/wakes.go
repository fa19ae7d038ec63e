package storetest

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/journal"
)

// sleep sets the wake time of a running execution.
func (b *bundle) sleep(t testing.TB, id journal.ID, wakeAt int64) {
	t.Helper()
	w := b.write(id)
	w.Update = &journal.Update{State: journal.Running, WakeAt: wakeAt}
	b.commit(t, w)
}

// testWakes has messages wake executions that run, and no
// others.
func testWakes(t *testing.T, b *bundle) {
	for name, fill := range map[string]func(*journal.Write){
		"settle":  func(w *journal.Write) { w.Receive = (&journal.Deferred{Name: "d"}).Message() },
		"receive": func(w *journal.Write) { w.Receive = newMessage(1) },
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
}

// In a batch each write sees what those before it did.
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
		{"before an update", []journal.Write{b.receive(id, 2), update}, 40},
		{"repeated", []journal.Write{update, b.receive(id, 1)}, 40},
		{"a new one before, a repeated one behind", []journal.Write{b.receive(id, 3), update, b.receive(id, 1)}, 40},
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
