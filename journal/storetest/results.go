package storetest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// sendResult ends an execution, and sends its result to a chain of another.
func (b *bundle) sendResult(t testing.TB, from, to journal.ID, chain journal.RunID, n int) journal.Write {
	t.Helper()
	m := *newMessage(n)
	m.Kind, m.Name, m.From = journal.ResultMessage, "", journal.Caller{
		ID: from, Run: b.load(t, from).Run, Step: stepOf(uint32(n)),
	}
	w := b.write(from)
	w.Update = &journal.Update{State: journal.Completed, WakeAt: journal.Never, Value: abi.Nil, FinishedAt: 9}
	w.Send = []journal.Sent{{To: to, Chain: chain, Message: m}}
	return w
}

// A result is in the inbox of the caller when the callee has ended, and wakes nothing: its
// receivers are found.
func testResults(t *testing.T, b *bundle) {
	callee, caller := b.start(t, newExecution("callee")), b.start(t, newExecution("caller"))
	asleep := b.write(caller)
	asleep.Update = &journal.Update{State: journal.Running, WakeAt: journal.Never}
	b.commit(t, asleep)
	require.Empty(t, b.mailReceivers(t))
	b.commit(t, b.sendResult(t, callee, caller, b.receiver(caller).Chain, 1))
	require.Equal(t, journal.Never, b.load(t, caller).WakeAt)
	require.Equal(t, []journal.ID{caller}, b.mailReceivers(t))
	ids, err := b.store.MailReceivers(b.ctx, caller, 10)
	require.NoError(t, err)
	require.Empty(t, ids, "behind it")
	inbox := b.inbox(t, caller)
	require.Len(t, inbox, 1)
	require.Equal(t, journal.ResultMessage, inbox[0].Kind)
	require.Equal(t, callee, inbox[0].From.ID)

	paused := b.write(caller)
	paused.Update = &journal.Update{State: journal.Paused, WakeAt: journal.Never}
	b.commit(t, paused)
	require.Empty(t, b.mailReceivers(t), "it is not to be loaded")
	paused.Update.State, paused.Take = journal.Running, []uint64{inbox[0].Position}
	b.commit(t, paused)
	require.Empty(t, b.mailReceivers(t))
	require.Empty(t, b.inbox(t, caller))
}

// The end of a callee does not depend on the inbox of its caller.
func testResultsAreNotRefused(t *testing.T, b *bundle) {
	callee, caller := b.start(t, newExecution("callee")), b.start(t, newExecution("caller"))
	b.fill(t, caller, journal.MaxSentInbox, 0)
	chain := b.receiver(caller).Chain
	full := b.entity(journal.EntityID("default", "bank/Teller", "1"))
	full.Send = []journal.Sent{{To: caller, Chain: chain, Message: *newMessage(1)}}
	results, err := b.store.Commit(b.ctx, []journal.Write{b.sendResult(t, callee, caller, chain, 2), full})
	require.NoError(t, err)
	require.NoError(t, results[0].Err)
	require.ErrorIs(t, results[1].Err, journal.ErrInboxFull)
	require.Equal(t, journal.Completed, b.load(t, callee).State)
	require.Equal(t, []journal.ID{caller}, b.mailReceivers(t))
	await := b.receive(caller, 3)
	await.Receive.Kind = journal.AwaitMessage
	results, err = b.store.Commit(b.ctx, []journal.Write{await, b.receive(caller, 4)})
	require.NoError(t, err)
	require.NoError(t, results[0].Err, "nor does a caller that wants to wait")
	require.NotZero(t, results[0].Position)
	require.ErrorIs(t, results[1].Err, journal.ErrInboxFull)
}

// A result for a run that is gone is purged, and only that.
func testLostResults(t *testing.T, b *bundle) {
	callee, other, caller := b.start(
		t, newExecution("callee"),
	), b.start(t, newExecution("other")), b.start(t, newExecution("caller"))
	gone := b.receiver(caller)
	gone.Chain[0] ^= 1
	b.commit(t, b.sendResult(t, callee, caller, gone.Chain, 1))
	b.commit(t, b.sendResult(t, other, caller, b.receiver(caller).Chain, 2))
	b.purge(t)
	left, err := b.store.Inbox(b.ctx, gone, 0)
	require.NoError(t, err)
	require.Empty(t, left)
	require.Len(t, b.inbox(t, caller), 1)
}
