package storetest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

var stopTests = []test{
	{"Children", nil, testChildren},
	{"Receivers", nil, testStopReceivers},
	{"AreNotRefused", nil, testStopsAreNotRefused},
	{"OneOfAKind", nil, testStopsOfAKind},
	{"Lost", nil, testLostStops},
	{"BesideAStart", nil, testStopBesideStart},
	{"WithAGuest", needsGuest, testStopWithGuest},
}

// stopOf is a request to stop an execution, from a step of another.
func (b *bundle) stopOf(t testing.TB, kind journal.MessageKind, from, to journal.ID) journal.Sent {
	t.Helper()
	chain := b.receiver(to).Chain
	m := *newMessage(1)
	m.Kind, m.Name, m.Origin, m.From = kind, "", journal.OriginToStop(chain, kind), callerOf(from, 1)
	return journal.Sent{To: to, Chain: chain, Message: m}
}

func (b *bundle) mailReceivers(t testing.TB) []journal.ID {
	t.Helper()
	ids, err := b.store.MailReceivers(b.ctx, journal.ID{}, 10)
	require.NoError(t, err)
	return ids
}

// Executions that have requests to stop are found until these are taken, running or paused, and not
// when they have ended.
func testStopReceivers(t *testing.T, b *bundle) {
	caller := b.start(t, newExecution("caller"))
	for _, kind := range []journal.MessageKind{journal.InterruptMessage, journal.TerminateMessage} {
		callee := b.start(t, newExecution("callee to "+string(kind)))
		b.sleep(t, callee, journal.Never)
		w := b.write(caller)
		w.Send = []journal.Sent{b.stopOf(t, kind, caller, callee)}
		b.commit(t, w)
		require.Equal(t, journal.Never, b.load(t, callee).WakeAt, "what is sent wakes nothing")
		require.Equal(t, []journal.ID{callee}, b.mailReceivers(t))
		inbox := b.inbox(t, callee)
		require.Len(t, inbox, 1)
		require.Equal(t, caller, inbox[0].From.ID)

		paused := b.write(callee)
		paused.Update = &journal.Update{State: journal.Paused, WakeAt: journal.Never}
		b.commit(t, paused)
		require.Equal(t, []journal.ID{callee}, b.mailReceivers(t), "it is to take them all the same")
		taken := b.write(callee)
		taken.Update, taken.Take = &journal.Update{
			State: journal.Paused, WakeAt: journal.Never, Interrupt: &journal.Interrupt{At: 1},
		}, []uint64{inbox[0].Position}
		b.commit(t, taken)
		require.Empty(t, b.mailReceivers(t))
		require.EqualValues(t, 1, b.load(t, callee).Interrupt.At)

		b.commit(t, w)
		require.Equal(
			t, []journal.ID{callee}, b.mailReceivers(t), "it leaves no receipt: the receiver decides about another one",
		)
		b.finish(t, callee, 5)
		require.Empty(t, b.mailReceivers(t))
	}
}

// A full inbox does not keep an execution from being stopped.
func testStopsAreNotRefused(t *testing.T, b *bundle) {
	caller, callee := b.start(t, newExecution("caller")), b.start(t, newExecution("callee"))
	b.fill(t, callee, journal.MaxSentInbox, 0)
	w := b.write(caller)
	w.Send = []journal.Sent{b.stopOf(t, journal.InterruptMessage, caller, callee)}
	require.NoError(t, b.result(t, w).Err)
	outside := b.write(callee)
	m := b.stopOf(t, journal.TerminateMessage, caller, callee).Message
	m.From = journal.Caller{}
	outside.Receive = &m
	require.NoError(t, b.result(t, outside).Err)
	require.Equal(t, []journal.ID{callee}, b.mailReceivers(t))
}

// There is one request of a kind at most, wherever it comes from.
func testStopsOfAKind(t *testing.T, b *bundle) {
	caller, callee := b.start(t, newExecution("caller")), b.start(t, newExecution("callee"))
	from, outside := b.write(caller), b.write(callee)
	from.Send = []journal.Sent{
		b.stopOf(t, journal.InterruptMessage, caller, callee), b.stopOf(t, journal.TerminateMessage, caller, callee),
	}
	m := from.Send[0].Message
	outside.Receive = &m
	b.commit(t, from)
	require.Equal(t, journal.Result{Existed: true}, b.result(t, outside))
	b.commit(t, from)
	inbox := b.inbox(t, callee)
	require.Len(t, inbox, 2)
	require.Equal(t, journal.InterruptMessage, inbox[0].Kind, "they are in the order in which they were sent")
	require.Equal(t, journal.TerminateMessage, inbox[1].Kind)
}

// A request to a run that is gone is purged, and only that.
func testLostStops(t *testing.T, b *bundle) {
	caller, callee := b.start(t, newExecution("caller")), b.start(t, newExecution("callee"))
	w := b.write(caller)
	lost := b.stopOf(t, journal.InterruptMessage, caller, callee)
	lost.Chain[0] ^= 1
	w.Send = []journal.Sent{lost, b.stopOf(t, journal.InterruptMessage, caller, callee)}
	b.commit(t, w)
	b.purge(t)
	left, err := b.store.Inbox(b.ctx, journal.Receiver{ID: callee, Chain: lost.Chain}, 0)
	require.NoError(t, err)
	require.Empty(t, left)
	require.Len(t, b.inbox(t, callee), 1)
}

// A parent gives up a callee in the batch in which that is started, in either order.
func testStopBesideStart(t *testing.T, b *bundle) {
	for _, startFirst := range []bool{true, false} {
		key := map[bool]string{true: "start first", false: "start second"}[startFirst]
		parent := b.start(t, newExecution(key))
		child := newExecution("child of " + key)
		child.Parent = callerOf(parent, 1)
		start, gives := b.write(child.ID), b.write(parent)
		start.Start = &child
		m := *newMessage(1)
		m.Kind, m.Name = journal.InterruptMessage, ""
		gives.Entries, gives.Send = []journal.Entry{
			newEntry(1),
		}, []journal.Sent{{To: child.ID, Chain: child.Run, Message: m}}
		writes := []journal.Write{gives, start}
		if startFirst {
			writes = []journal.Write{start, gives}
		}
		results, err := b.store.Commit(b.ctx, writes)
		require.NoError(t, err)
		require.Equal(t, []journal.Result{{}, {}}, results)
		require.Len(t, b.inbox(t, child.ID), 1)
	}
}

func testStopWithGuest(t *testing.T, b *bundle) {
	caller, callee := b.start(t, newExecution("caller")), b.start(t, newExecution("callee"))
	for _, commits := range []bool{false, true} {
		tx, err := b.store.BeginGuest(b.ctx, "default")
		require.NoError(t, err)
		_, _, err = tx.Query(b.ctx, "SELECT 1", nil)
		require.NoError(t, err)
		if commits {
			w := b.write(caller)
			w.Entries, w.Send = []journal.Entry{newEntry(1)}, []journal.Sent{
				b.stopOf(t, journal.InterruptMessage, caller, callee),
			}
			require.NoError(t, tx.Commit(b.ctx, w))
			require.Len(t, b.inbox(t, callee), 1)
		}
		require.NoError(t, tx.Rollback(b.ctx))
	}
}

func testChildren(t *testing.T, b *bundle) {
	parent := b.start(t, newExecution("parent"))
	var want []journal.ID
	for i, key := range []string{"a", "b", "c", "d"} {
		e := newExecution(key)
		e.Parent = callerOf(parent, uint32(i+1))
		e.Pinned.OnCancel = abi.OnCancelTerminate
		want = append(want, b.start(t, e))
	}
	b.start(t, newExecution("no child"))
	stranger := newExecution("of another run")
	stranger.Parent = journal.Caller{ID: parent, Run: journal.RunID{1}, Step: stepOf(1)}
	b.start(t, stranger)
	b.finish(t, want[1], 5)
	w := b.write(want[2])
	w.Update = &journal.Update{State: journal.Paused, WakeAt: journal.Never}
	b.commit(t, w)
	open := []journal.ID{want[0], want[2], want[3]}

	for _, page := range []int{1, 2, 10} {
		var found []journal.ID
		var after journal.ID
		for {
			rows, err := b.store.Children(b.ctx, journal.RunID(parent), after, page)
			require.NoError(t, err)
			if len(rows) == 0 {
				break
			}
			for i := range rows {
				require.Equal(t, journal.Listed(*b.load(t, rows[i].ID)), rows[i])
				require.Equal(t, abi.OnCancelTerminate, rows[i].Pinned.OnCancel)
				require.Less(t, after.String(), rows[i].ID.String())
				after = rows[i].ID
				found = append(found, after)
			}
		}
		require.ElementsMatch(t, open, found)
	}
	none, err := b.store.Children(b.ctx, journal.RunID{}, journal.ID{}, 10)
	require.NoError(t, err)
	require.Empty(t, none)
}
