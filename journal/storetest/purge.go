package storetest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// rowsOf is how much there is of a run that has ended: entries, deferreds, links and messages.
func (b *bundle) rowsOf(t *testing.T, run *journal.Execution, to journal.Receiver) (rows int) {
	t.Helper()
	messages, err := b.store.Inbox(b.ctx, to, 0)
	require.NoError(t, err)
	return len(b.entriesOf(t, run.RunKey())) + len(b.deferredsOf(t, run.Settlements())) + len(messages)
}

// A purge that ends after any of its rows, and is gone on with by another handle, deletes the
// remains of continued, deleted and swept runs, and nothing else.
func testPurgeInPieces(t *testing.T, b *bundle) {
	kept := b.lived(t, "kept")
	want := b.rowsOf(t, b.load(t, kept), b.receiver(kept))
	require.Positive(t, want)
	type of struct {
		run *journal.Execution
		to  journal.Receiver
	}
	var gone []of
	for key, leave := range map[string]func(id journal.ID){
		"continued": func(id journal.ID) {
			w := b.continueAs(id, journal.RunID{1})
			w.Publish = &journal.Published{At: 1}
			b.commit(t, w)
		},
		"deleted": func(id journal.ID) { b.finish(t, id, 1000); require.NoError(t, b.delete(id, journal.RunID(id))) },
		"swept":   func(id journal.ID) { b.finish(t, id, 5); require.Equal(t, 1, b.sweep(t, 6, 10)) },
	} {
		id := b.start(t, newExecution(key))
		w := b.write(id)
		w.Entries = []journal.Entry{newEntry(1), newEntry(3), newEntry(5)} // three rows
		w.Receive = (&journal.Deferred{Name: "d", Value: abi.Nil}).Message()
		w.Hibernate = &journal.Hibernated{Seq: 5, Body: []byte{1}}
		b.commit(t, w)
		b.put(t, b.receive(id, 1))
		run := of{b.load(t, id), b.receiver(id)}
		leave(id)
		if key == "continued" {
			run.to = journal.Receiver{ID: id, Chain: journal.RunID{9}} // its inbox stays
		}
		gone = append(gone, run)
	}
	for n := 1; n > 0; {
		var err error
		n, err = b.store.Purge(b.ctx, b.fences, 1)
		require.NoError(t, err)
		require.LessOrEqual(t, n, 1)
		require.Equal(t, want, b.rowsOf(t, b.load(t, kept), b.receiver(kept)))
		if b.harness.Durable {
			require.NoError(t, b.store.Close())
			b.open(t)
		}
	}
	for _, of := range gone {
		require.Zero(t, b.rowsOf(t, of.run, of.to))
	}
	continued := newExecution("continued").ID
	require.Equal(t, journal.RunID{1}, b.load(t, continued).Run)
	require.Len(t, b.inbox(t, continued), 1)
}
