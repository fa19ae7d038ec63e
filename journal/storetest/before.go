package storetest

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// RunBefore tests a store that was opened over data which a version wrote that keyed rows by
// execution (testdata/before): all of it is found, and goes on.
//
// Execution "a" runs and has something in every table; "child" is its, over and held. "b" has continued
// twice, and "c" was started over twice. The entity "ada" has a state, a message, a receipt and a lock of "a".
func RunBefore(t *testing.T, store journal.Store) {
	b := &bundle{ctx: t.Context(), store: store}
	b.claim(t, "after")
	require.GreaterOrEqual(t, b.fences[0].Epoch, journal.Epoch(2), "epochs go on")
	a := b.load(t, beforeID("a"))
	b.requireBeforeA(t, a)
	b.requireBeforeB(t)
	b.requireBeforeC(t)
	b.requireBeforeEntity(t, a)

	// Rows held by a live run stay until that has ended.
	require.Zero(t, b.sweep(t, 100, 10))
	w := journal.Write{
		ID: a.ID, Run: a.Run, Chain: a.Chain, Fence: b.fences[a.ID.Shard()], Entries: []journal.Entry{newEntry(4)},
	}
	b.commit(t, w)
	require.Len(t, b.entriesOf(t, a.RunKey()), 4)
	w.Entries, w.Update = nil, &journal.Update{State: journal.Completed, WakeAt: journal.Never, FinishedAt: 200}
	b.commit(t, w)
	require.Equal(t, 1, b.sweep(t, 100, 10), "the child")
	require.Equal(t, 3, b.sweep(t, 3000, 10), "a, and the superseded runs of c")
	b.purge(t)
	require.Empty(t, b.entriesOf(t, a.RunKey()))
}

// PinnedToStop returns the pinned values of callees that are asked to stop when their calls are
// given up.
func PinnedToStop() []byte { return abi.MustMarshal(&journal.Pinned{OnCancel: abi.OnCancelCancel}) }

// RunGivenUpBefore tests such a store in which "child" was running, with [PinnedToStop], and "a" had given it up: it is
// asked to stop.
func RunGivenUpBefore(t *testing.T, store journal.Store) {
	child, err := store.Load(t.Context(), beforeID("child"))
	require.NoError(t, err)
	require.Equal(t, journal.Running, child.State)
	ids, err := store.MailReceivers(t.Context(), journal.ID{}, 10)
	require.NoError(t, err)
	require.Equal(t, []journal.ID{child.ID}, ids)
	messages, _, err := store.Messages(t.Context(), child.Receiver(), 0, journal.PageLimit{})
	require.NoError(t, err)
	require.Len(t, messages, 1)
	m := messages[0]
	require.Equal(t, journal.InterruptMessage, m.Kind)
	require.Equal(t, child.Parent, m.From)
	require.Len(t, m.Value, m.Bytes)
	var i journal.Interrupt
	require.NoError(t, abi.Unmarshal(m.Value, &i))
	require.Equal(t, journal.Interrupt{At: m.At, GivenUp: true, Reason: i.Reason}, i)
	require.NotEmpty(t, i.Reason)
}

// SettledBefore is the value that "a" is settled with, beside the deferred that it has in testdata/before.
func SettledBefore() []journal.Deferred {
	return []journal.Deferred{
		{Name: "binary ü", Value: abi.MustMarshal([]byte{0, 1, 0xff, 0}), At: 5, Origin: journal.Origin{0, 0, 7, 0}},
		{Name: "nothing", At: 6, Origin: journal.Origin{1}},
		{Name: "refused", Error: abi.Errorf(abi.CodeDeferredRejected, "no\x00pe"), At: 7, Origin: journal.Origin{2}},
	}
}

// RunSettledBefore tests such a store whose "a" has [SettledBefore]: all of it is there, and nothing of a run that is
// gone.
func RunSettledBefore(t *testing.T, store journal.Store) {
	b := &bundle{ctx: t.Context(), store: store}
	b.claim(t, "after")
	a := b.load(t, beforeID("a"))
	approved := journal.Deferred{Name: "approved", Value: []byte{0xc3}, At: 4, Origin: journal.Origin{4}}
	require.Equal(t, append([]journal.Deferred{approved}, SettledBefore()...), b.deferredsOf(t, a.Settlements()))
	w := journal.Write{ID: a.ID, Run: a.Run, Chain: a.Chain, Fence: b.fences[a.ID.Shard()]}
	for _, d := range SettledBefore() {
		w.Receive = d.Message()
		require.Equal(t, journal.Result{Existed: true}, b.result(t, w), d.Name)
	}
	w.Receive = (&journal.Deferred{Name: "another"}).Message()
	requireEffect(t, b.result(t, w))
}

func beforeID(key string) journal.ID { return journal.IDOf("default", "orders/Process", key) }

func beforeRun(n byte) journal.RunID { return journal.RunID{n, 1, 2, 3} }

func (b *bundle) requireBeforeA(t *testing.T, a *journal.Execution) {
	t.Helper()
	require.Equal(t, beforeRun(1), a.Run)
	require.Equal(t, abi.MustMarshal("input of a"), a.Input)
	require.Equal(t, journal.Origin{1, 9}, a.Request)
	require.Equal(t, journal.StepID{5}, a.Section)
	var values []string
	for _, en := range b.entriesOf(t, a.RunKey()) {
		var value string
		require.NoError(t, abi.Unmarshal(en.Value, &value))
		values = append(values, value)
	}
	require.Equal(t, []string{"one", "two", "three"}, values)
	require.Len(t, b.deferredsOf(t, a.Settlements()), 1)
	saved, err := b.store.Hibernated(b.ctx, a.RunKey())
	require.NoError(t, err)
	require.Equal(t, &journal.Hibernated{Seq: 3, Body: []byte("state")}, saved)
	published, err := b.store.Published(b.ctx, a.ChainKey())
	require.NoError(t, err)
	require.Len(t, published.State, 1)
	var held []bool
	for _, m := range b.inboxOf(t, a.Receiver()) {
		held = append(held, m.Held)
	}
	require.Equal(t, []bool{true, false}, held)
	receipt, err := b.store.Receipt(b.ctx, a.ID, journal.Origin{1})
	require.NoError(t, err)
	require.Equal(t, []byte("answer"), receipt.Value)
	for step, key := range map[byte]string{6: "child", 7: "callee"} {
		callee, err := b.store.Callee(b.ctx, journal.Caller{ID: a.ID, Run: a.Run, Step: journal.StepID{step}})
		require.NoError(t, err)
		require.Equal(t, key, callee.Key)
	}
}

func (b *bundle) requireBeforeB(t *testing.T) {
	t.Helper()
	row := b.load(t, beforeID("b"))
	require.Equal(t, beforeRun(12), row.Run)
	require.Equal(t, beforeRun(10), row.Chain)
	require.EqualValues(t, 2, row.Continued)
	require.Equal(t, abi.MustMarshal(byte(12)), row.Input)
	require.Len(t, b.entriesOf(t, row.RunKey()), 1)
	require.Len(t, b.inboxOf(t, row.Receiver()), 1)
	_, err := b.store.Published(b.ctx, row.ChainKey())
	require.NoError(t, err)
}

func (b *bundle) requireBeforeC(t *testing.T) {
	t.Helper()
	id := beforeID("c")
	earlier, err := b.store.Earlier(b.ctx, id, 0, 10)
	require.NoError(t, err)
	require.Len(t, earlier, 2)
	require.Equal(t, beforeRun(21), earlier[0].Run)
	require.Equal(t, beforeRun(20), earlier[1].Run)
	for n := byte(20); n <= 22; n++ {
		row, err := b.store.FindRun(b.ctx, id, beforeRun(n))
		require.NoError(t, err)
		require.Equal(t, id, row.ID)
		entries := b.entriesOf(t, row.RunKey())
		require.Len(t, entries, 1)
		require.Equal(t, abi.MustMarshal(fmt.Sprint("run ", n)), entries[0].Value)
		require.Equal(t, fmt.Sprint("d", n), b.deferredsOf(t, row.Settlements())[0].Name)
		messages := b.inboxOf(t, row.Receiver())
		require.Len(t, messages, 1)
		require.Equal(t, []byte{n}, messages[0].Value)
		published, err := b.store.Published(b.ctx, row.ChainKey())
		require.NoError(t, err)
		require.InDelta(t, float64(n), published.Attributes[0].Number, 0)
		requested, err := b.store.Requested(b.ctx, id, journal.Origin{n, 9})
		require.NoError(t, err)
		require.Equal(t, beforeRun(n), requested.Run)
	}
	require.Equal(t, []string{"c"}, b.find(t, where("total", "=", number(22))))
	require.Empty(t, b.find(t, where("total", "=", number(21))))
}

func (b *bundle) requireBeforeEntity(t *testing.T, a *journal.Execution) {
	t.Helper()
	id := journal.EntityID("default", "bank/Account", "ada")
	entity, lock, err := b.store.LockedEntity(b.ctx, id)
	require.NoError(t, err)
	require.Equal(t, []byte("state"), entity.State)
	held, err := b.store.InSection(b.ctx, lock.Holder)
	require.NoError(t, err)
	require.True(t, held)
	receivers, err := b.store.Receivers(b.ctx, journal.ID{}, 10)
	require.NoError(t, err)
	require.Equal(t, []journal.ID{id}, receivers)
	messages := b.inboxOf(t, journal.Receiver{ID: id})
	require.Len(t, messages, 1)
	require.Equal(t, a.Run, messages[0].From.Run)
	receipt, err := b.store.Receipt(b.ctx, id, journal.Origin{31})
	require.NoError(t, err)
	require.Equal(t, a.ID, receipt.From.ID)
	due, err := b.store.Due(b.ctx, 50, journal.Wake{}, 10)
	require.NoError(t, err)
	require.Contains(t, due, journal.Wake{ID: a.ID, At: 50})
	schedule, err := b.store.Schedule(b.ctx, journal.ScheduleID("default", "nightly"))
	require.NoError(t, err)
	require.EqualValues(t, 77, schedule.WakeAt)
	_, err = b.store.Deployment(b.ctx, "default", "orders")
	require.NoError(t, err)
}
