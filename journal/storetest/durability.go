package storetest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

var durabilityTests = []test{
	{"ReopenKeepsEverything", needsDurable, testReopen},
	{"ReopenKeepsInboxes", needsDurable, testReopenInbox},
	{"ReopenKeepsTables", func(h Harness) bool { return h.Durable && h.Guest }, testReopenTables},
	{"CloseTwice", nil, testCloseTwice},
}

func testReopen(t *testing.T, b *bundle) {
	id := b.start(t, newExecution("k"))
	w := b.write(id)
	w.Entries = []journal.Entry{newEntry(1), newEntry(2)}
	settled := journal.Deferred{Name: "d", Value: abi.Nil, At: 4}
	w.Receive = settled.Message()
	w.Update = &journal.Update{State: journal.Running, Interrupt: &journal.Interrupt{At: 6, Reason: "r"}}
	b.commit(t, w)
	module, deployment := newModule("sha256:aa"), newDeployment("default", "orders", "sha256:aa")
	deployed, err := b.deploy(module, deployment, nil)
	require.NoError(t, err)
	execution, entries := b.load(t, id), b.entries(t, id)
	old := b.fences

	require.NoError(t, b.store.Close())
	b.open(t)
	require.Equal(t, execution, b.load(t, id))
	require.Equal(t, entries, b.entries(t, id))
	deferreds := b.deferreds(t, id)
	require.Equal(t, []journal.Deferred{settled}, deferreds)
	gotModule, err := b.store.Module(b.ctx, module.Digest)
	require.NoError(t, err)
	require.Equal(t, &module, gotModule)
	gotDeployment, err := b.store.Deployment(b.ctx, "default", "orders")
	require.NoError(t, err)
	require.Equal(t, &deployed, gotDeployment)

	b.claim(t, "second")
	require.Equal(t, old[0].Epoch+1, b.fences[0].Epoch, "epochs go on where they were")
}

func testReopenInbox(t *testing.T, b *bundle) {
	e := newEntity("bank/Account", "ada")
	w := b.replace(e)
	w.Receive = newMessage(1)
	w.Receipts = []journal.Receipt{{
		Origin: originOf(2), At: 4, Value: abi.Nil, Error: abi.Errorf(abi.CodeActivityFailed, "no"),
	}}
	w.Send = []journal.Sent{{To: newEntity("bank/Account", "bob").ID, Message: *newMessage(3)}}
	b.put(t, w)
	messages, sent := b.inbox(t, e.ID), b.inbox(t, w.Send[0].To)
	require.NoError(t, b.store.Close())
	b.open(t)
	require.Equal(t, messages, b.inbox(t, e.ID))
	require.Equal(t, sent, b.inbox(t, w.Send[0].To))
	b.requireEntity(t, e.ID, &e)
	receipt, err := b.store.Receipt(b.ctx, e.ID, originOf(2))
	require.NoError(t, err)
	require.Equal(t, &w.Receipts[0], receipt)

	// New rows come behind the existing ones.
	b.claim(t, "second")
	again := b.entity(e.ID)
	again.Receive = newMessage(4)
	require.Greater(t, b.put(t, again), sent[0].Position)
	require.Equal(t, []int{1, 4}, b.numbers(t, e.ID))
	again.Receive = newMessage(1)
	require.Equal(t, journal.Result{Existed: true}, b.result(t, again))
	again.Receive = newMessage(2)
	require.Equal(t, journal.Result{Existed: true}, b.result(t, again))
}

func testReopenTables(t *testing.T, b *bundle) {
	b.deployTables(t, "default")
	id := b.start(t, newExecution("k"))
	tx := b.begin(t, "default")
	_, err := tx.Exec(b.ctx, "INSERT INTO accounts (id, owner) VALUES (1, 'ada')", nil)
	require.NoError(t, err)
	w := b.write(id)
	w.Entries = []journal.Entry{newEntry(1)}
	require.NoError(t, tx.Commit(b.ctx, w))

	lost := b.begin(t, "default")
	_, err = lost.Exec(b.ctx, "INSERT INTO accounts (id, owner) VALUES (2, 'bob')", nil)
	require.NoError(t, err)
	require.NoError(t, b.store.Close(), "closing does not wait for an open transaction")
	require.Error(t, lost.Commit(b.ctx, b.write(id)))
	require.NoError(t, lost.Rollback(b.ctx))

	b.open(t)
	require.Equal(t, [][]any{{int64(1), "ada"}}, b.rows(t, "default", "SELECT id, owner FROM accounts"))
	require.Len(t, b.entries(t, id), 1)
	refused := b.begin(t, "other")
	_, _, err = refused.Query(b.ctx, "SELECT id FROM accounts", nil)
	require.Error(t, err, "whose table it is was kept too")
	require.NoError(t, refused.Rollback(b.ctx))
}

func testCloseTwice(t *testing.T, b *bundle) {
	require.NoError(t, b.store.Close())
	require.NoError(t, b.store.Close())
	_, err := b.store.Load(b.ctx, newExecution("k").ID)
	require.Error(t, err)
	require.NotErrorIs(t, err, journal.ErrNotFound)
	_, err = b.store.Commit(b.ctx, []journal.Write{b.write(newExecution("k").ID)})
	require.Error(t, err)
}
