package execution

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/execution/request"
	"github.com/cruster/cruster/host/message"
	"github.com/cruster/cruster/journal"
)

// fillInbox has an entity send an execution as many messages as it takes. The run does not know of them.
func fillInbox(t *testing.T, f *fixture, row *journal.Execution) {
	t.Helper()
	w := journal.Write{ID: journal.IDOf("default", "orders/Sender", "k")}
	for range journal.MaxInbox {
		m := message.Signal{Name: "s", Value: abi.Nil}.Message(0, journal.NewOrigin)
		w.Send = append(w.Send, journal.Sent{To: row.ID, Chain: row.Run, Message: m})
	}
	w.Receipts = []journal.Receipt{{Origin: journal.NewOrigin()}}
	_, err := f.commits.Commit(w)
	require.NoError(t, err)
}

// TestSignalIntoAFullInbox is sent again until there is room, as a call of an entity is.
func TestSignalIntoAFullInbox(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		receiver, sender := rowOf("receiver", "k"), rowOf("sender", "k")
		f.scripts["receiver"] = []string{"deferred d"}
		f.scripts["sender"] = []string{"signal s " + receiver.Name(), "done sent"}
		_, err := f.x.Starter.Start(t.Context(), receiver, nil)
		require.NoError(t, err)
		fillInbox(t, f, receiver)
		_, err = f.x.Starter.Start(t.Context(), sender, nil)
		require.NoError(t, err)
		time.Sleep(time.Minute)
		synctest.Wait()
		row, err := f.x.Rows.Load(t.Context(), request.RefTo(sender))
		require.NoError(t, err)
		require.Equal(t, journal.Running, row.State)
		f.takeNotes()
		waiting, err := f.store.Inbox(t.Context(), journal.Receiver{ID: receiver.ID, Chain: receiver.Run}, 0)
		require.NoError(t, err)
		_, err = f.commits.Commit(journal.Write{
			ID: receiver.ID, Run: receiver.Run, Chain: receiver.Chain, Take: []uint64{waiting[0].Position},
		})
		require.NoError(t, err)
		done, err := f.x.Ends.Wait(t.Context(), request.RefTo(sender))
		require.NoError(t, err)
		require.Equal(t, abi.MustMarshal("sent"), done.Value)
		require.NotContains(t, f.takeNotes(), string(abi.CodeInboxFull), "the workflow does not learn of it")
	})
}

// TestSignalIntoTheOwnFullInbox is refused: no one else makes room.
func TestSignalIntoTheOwnFullInbox(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		row := rowOf("itself", "k")
		f.scripts["itself"] = []string{"deferred d", "signal s " + row.Name(), "done sent"}
		_, err := f.x.Starter.Start(t.Context(), row, nil)
		require.NoError(t, err)
		fillInbox(t, f, row)
		require.NoError(
			t, f.x.Messages.Settle(t.Context(), request.RefTo(row), journal.Deferred{Name: "d", Value: abi.Nil}),
		)
		_, err = f.x.Ends.Wait(t.Context(), request.RefTo(row))
		require.NoError(t, err)
		require.Contains(t, f.takeNotes(), string(abi.CodeInboxFull))
	})
}
