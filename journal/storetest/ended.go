package storetest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/journal"
)

// A run that has ended takes no entries: alone, in a batch, behind its end in the same batch, or
// with the end of a run that has ended already. The rest of the write takes no effect either, and
// neighbours of the write are not affected.
func testEndedRunEntries(t *testing.T, b *bundle) {
	for _, state := range []journal.State{journal.Completed, journal.Failed, journal.Interrupted} {
		id, neighbour := b.start(t, newExecution("ended "+string(state))), b.start(
			t, newExecution("neighbour "+string(state)),
		)
		entry := func(id journal.ID, seq uint64) journal.Write {
			w := b.write(id)
			w.Entries = []journal.Entry{newEntry(seq)}
			return w
		}
		end := entry(id, 1) // the last entry comes with the end
		end.Update = &journal.Update{State: state, WakeAt: journal.Never, FinishedAt: 5}
		late := entry(id, 2)
		late.Publish = &journal.Published{At: 1}
		results, err := b.store.Commit(b.ctx, []journal.Write{entry(neighbour, 1), end, late, entry(neighbour, 2)})
		require.NoError(t, err)
		for i, want := range []error{nil, nil, journal.ErrNotFound, nil} {
			require.ErrorIs(t, results[i].Err, want, "write %d", i)
		}
		require.ErrorIs(t, b.result(t, late).Err, journal.ErrNotFound)
		again := entry(id, 3)
		again.Update = &journal.Update{State: journal.Running}
		results, err = b.store.Commit(b.ctx, []journal.Write{entry(neighbour, 3), again})
		require.NoError(t, err)
		require.NoError(t, results[0].Err)
		require.ErrorIs(t, results[1].Err, journal.ErrNotFound)
		require.Equal(t, state, b.load(t, id).State)
		require.Len(t, b.entries(t, id), 1)
		require.Len(t, b.entries(t, neighbour), 3)
		_, err = b.store.Published(b.ctx, b.chainKey(id))
		require.ErrorIs(t, err, journal.ErrNotFound)
	}
}

// All other writes of a run which has ended are taken, and wake nothing: they hang on the run until
// retention. The owner of the shard writes them, and knows its earlier writes; only the transaction
// of an activity is not in its order, and has entries.
func testEndedRun(t *testing.T, b *bundle) {
	id, callee := b.start(t, newExecution("ended")), b.start(t, newExecution("callee"))
	b.finish(t, id, 5)
	ended := b.load(t, id)
	to := journal.EntityID("default", "bank/Account", "ada")
	for name, part := range map[string]func(w *journal.Write){
		"link": func(w *journal.Write) {
			w.Link = &journal.Link{Step: stepOf(1), Callee: callee, Chain: journal.RunID(callee)}
		},
		"publish": func(w *journal.Write) { w.Publish = &journal.Published{At: 1} },
		"send":    func(w *journal.Write) { w.Send = []journal.Sent{{To: to, Message: *newMessage(1)}} },
		"receipt": func(w *journal.Write) { w.Receipts = []journal.Receipt{{Origin: originOf(1), At: 1}} },
	} {
		w := b.write(id)
		part(&w)
		result := b.result(t, w)
		require.NoError(t, result.Err, name)
		require.Equal(t, ended, b.load(t, id), name)
	}
	due, err := b.store.Due(b.ctx, journal.Never-1, journal.Wake{}, 10)
	require.NoError(t, err)
	require.Equal(t, []journal.Wake{{ID: callee}}, due)
	require.Len(t, b.inbox(t, to), 1)
	b.finish(t, callee, 5)
	require.Equal(t, 2, b.sweep(t, 10, 10))
	b.purge(t)
}
