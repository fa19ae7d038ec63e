package storetest

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

var entityTests = []test{
	{"RoundTrip", nil, testEntityRoundTrip},
	{"Destroy", nil, testEntityDestroy},
	{"InABatch", nil, testEntityInABatch},
	{"Operation", nil, testEntityOperation},
	{"Fenced", nil, testEntityFenced},
	{"GuestCommit", needsGuest, testEntityGuestCommit},
	{"GuestCommitFails", needsGuest, testEntityGuestCommitFails},
	{"List", nil, testListEntities},
	{"ListBounds", nil, testListEntitiesBounds},
}

func newEntity(entityType, key string) journal.Entity {
	return journal.Entity{
		ID: journal.EntityID("default", entityType, key), Namespace: "default", Type: entityType, Key: key,
		Version: 1, State: abi.MustMarshal(key), CreatedAt: 3, UpdatedAt: 4,
	}
}

// replace is a write of the row of an entity.
func (b *bundle) replace(e journal.Entity) journal.Write {
	w := b.entity(e.ID)
	w.Entity = &e
	return w
}

// requireEntity requires that the entity is as it should be; a nil one stands for none.
func (b *bundle) requireEntity(t testing.TB, id journal.ID, want *journal.Entity) {
	t.Helper()
	both, _, err := b.store.LockedEntity(b.ctx, id)
	require.NoError(t, err)
	require.Equal(t, want, both)
	got, err := b.store.Entity(b.ctx, id)
	if want == nil {
		require.ErrorIs(t, err, journal.ErrNotFound)
		return
	}
	require.NoError(t, err)
	require.Equal(t, want, got)
}

func testEntityRoundTrip(t *testing.T, b *bundle) {
	e := newEntity("bank/Account", "ключ/日本 🚀 'quoted\" \\ %")
	b.requireEntity(t, e.ID, nil)
	for _, state := range [][]byte{e.State, nil, {}, bytes.Repeat([]byte("cruster\x00"), abi.MaxBody/8), {1}} {
		e.State = state
		e.Version, e.CreatedAt, e.UpdatedAt = math.MaxUint32-e.Version, -e.CreatedAt, math.MaxInt64-e.UpdatedAt
		b.commit(t, b.replace(e))
		b.requireEntity(t, e.ID, &e)
	}
	b.requireEntity(t, newEntity("bank/Account", "other").ID, nil)
	_, err := b.store.Load(b.ctx, e.ID)
	require.ErrorIs(t, err, journal.ErrNotFound, "it is no execution")
}

func testEntityDestroy(t *testing.T, b *bundle) {
	e := newEntity("bank/Account", "ada")
	destroy := b.entity(e.ID)
	destroy.Destroy = true
	b.commit(t, destroy)
	w := b.replace(e)
	w.Receive, w.Receipts = newMessage(1), []journal.Receipt{{Origin: originOf(2)}}
	b.put(t, w)
	b.commit(t, destroy)
	b.requireEntity(t, e.ID, nil)
	require.Equal(t, []int{1}, b.numbers(t, e.ID), "its inbox stays")
	_, err := b.store.Receipt(b.ctx, e.ID, originOf(2))
	require.NoError(t, err, "its receipts stay")
	b.commit(t, b.replace(e))
	b.requireEntity(t, e.ID, &e)
}

// Of several writes of an entity in a batch the last stands.
func testEntityInABatch(t *testing.T, b *bundle) {
	ada, bob := newEntity("bank/Account", "ada"), newEntity("bank/Account", "bob")
	later := ada
	later.State, later.UpdatedAt = []byte{9}, 99
	destroy := b.entity(ada.ID)
	destroy.Destroy = true
	results, err := b.store.Commit(b.ctx, []journal.Write{b.replace(ada), b.replace(bob), b.replace(later)})
	require.NoError(t, err)
	require.Equal(t, make([]journal.Result, 3), results)
	b.requireEntity(t, ada.ID, &later)
	b.requireEntity(t, bob.ID, &bob)
	results, err = b.store.Commit(b.ctx, []journal.Write{destroy, b.replace(ada)})
	require.NoError(t, err)
	require.Equal(t, make([]journal.Result, 2), results)
	b.requireEntity(t, ada.ID, &ada)
	results, err = b.store.Commit(b.ctx, []journal.Write{b.replace(later), destroy})
	require.NoError(t, err)
	require.Equal(t, make([]journal.Result, 2), results)
	b.requireEntity(t, ada.ID, nil)
}

// operation returns the commit of an entity's operation: its state, the message taken, a receipt,
// and a message to another.
func (b *bundle) operation(e journal.Entity, n int, take uint64, to journal.ID) journal.Write {
	w := b.replace(e)
	w.Take = []uint64{take}
	w.Receipts = []journal.Receipt{{Origin: originOf(n), At: int64(n), Value: abi.Nil}}
	w.Send = []journal.Sent{{To: to, Message: *newMessage(n)}}
	return w
}

// testEntityOperation requires that all that an operation causes is there, or nothing.
func testEntityOperation(t *testing.T, b *bundle) {
	ada, bob := newEntity("bank/Account", "ada"), newEntity("bank/Account", "bob")
	receive := b.entity(ada.ID)
	receive.Receive = newMessage(1)
	position := b.put(t, receive)
	b.commit(t, b.operation(ada, 1, position, bob.ID))
	check := func() {
		t.Helper()
		b.requireEntity(t, ada.ID, &ada)
		require.Empty(t, b.inbox(t, ada.ID))
		require.Equal(t, []int{1}, b.numbers(t, bob.ID))
		_, err := b.store.Receipt(b.ctx, ada.ID, originOf(1))
		require.NoError(t, err)
		_, err = b.store.Receipt(b.ctx, ada.ID, originOf(2))
		require.ErrorIs(t, err, journal.ErrNotFound)
	}
	check()
	changed := ada
	changed.State = []byte("changed")
	require.Error(t, b.result(t, b.operation(changed, 2, position, bob.ID)).Err, "the message is gone")
	check()
	again := b.operation(changed, 1, position, bob.ID)
	again.Take = nil
	require.Error(t, b.result(t, again).Err, "there is a receipt")
	check()
}

func testEntityFenced(t *testing.T, b *bundle) {
	ada, bob := newEntity("bank/Account", "ada"), newEntity("bank/Account", "bob")
	receive := b.entity(ada.ID)
	receive.Receive = newMessage(1)
	position := b.put(t, receive)
	operation, destroy := b.operation(bob, 2, position, ada.ID), b.entity(ada.ID)
	operation.Take, destroy.Destroy = nil, true
	late := b.entity(ada.ID)
	late.Receive = newMessage(3)
	take := b.entity(ada.ID)
	take.Take = []uint64{position}
	b.commit(t, b.replace(ada))
	b.claim(t, "second")
	results, err := b.store.Commit(b.ctx, []journal.Write{operation, destroy, late, take})
	require.NoError(t, err)
	for i, r := range results {
		require.Equal(t, journal.Result{Err: journal.ErrFenced}, r, "write %d", i)
	}
	b.requireEntity(t, ada.ID, &ada)
	b.requireEntity(t, bob.ID, nil)
	require.Equal(t, []int{1}, b.numbers(t, ada.ID))
	_, err = b.store.Receipt(b.ctx, bob.ID, originOf(2))
	require.ErrorIs(t, err, journal.ErrNotFound)
}

// testEntityGuestCommit commits an operation along with the rows of its module.
func testEntityGuestCommit(t *testing.T, b *bundle) {
	b.deployTables(t, "default")
	ada, bob := newEntity("bank/Account", "ada"), newEntity("bank/Account", "bob")
	for n := range 2 {
		receive := b.entity(ada.ID)
		receive.Receive = newMessage(n)
		position := b.put(t, receive)
		tx := b.begin(t, "default")
		_, err := tx.Exec(b.ctx, "INSERT INTO accounts (id, owner) VALUES ($1, 'ada')", []any{int64(n)})
		require.NoError(t, err)
		w := b.operation(ada, n, position, bob.ID)
		w.Send = append(w.Send, journal.Sent{To: bob.ID, Message: *newMessage(0)}) // the second time it is known
		w.Entity.UpdatedAt = int64(n)
		require.NoError(t, tx.Commit(b.ctx, w))
		require.Len(t, b.rows(t, "default", "SELECT id FROM accounts"), n+1)
		b.requireEntity(t, ada.ID, w.Entity)
		require.Empty(t, b.inbox(t, ada.ID))
		_, err = b.store.Receipt(b.ctx, ada.ID, originOf(n))
		require.NoError(t, err)
	}
	require.Equal(t, []int{0, 1}, b.numbers(t, bob.ID))
	tx := b.begin(t, "default")
	_, err := tx.Exec(b.ctx, "DELETE FROM accounts", nil)
	require.NoError(t, err)
	destroy := b.entity(ada.ID)
	destroy.Destroy = true
	require.NoError(t, tx.Commit(b.ctx, destroy))
	b.requireEntity(t, ada.ID, nil)

	// Messages known when the transaction began are passed over, also if taken.
	take := b.entity(bob.ID)
	take.Take, take.Receipts = []uint64{b.inbox(t, bob.ID)[0].Position}, []journal.Receipt{{Origin: originOf(0)}}
	b.commit(t, take)
	tx = b.begin(t, "default")
	send := b.entity(ada.ID)
	send.Send = []journal.Sent{{To: bob.ID, Message: *newMessage(0)}, {To: bob.ID, Message: *newMessage(5)}}
	require.NoError(t, tx.Commit(b.ctx, send))
	require.Equal(t, []int{1, 5}, b.numbers(t, bob.ID))
}

func testEntityGuestCommitFails(t *testing.T, b *bundle) {
	b.deployTables(t, "default")
	ada, bob := newEntity("bank/Account", "ada"), newEntity("bank/Account", "bob")
	w := b.entity(ada.ID)
	w.Receipts = []journal.Receipt{{Origin: originOf(1)}}
	w.Receive = newMessage(2)
	position := b.put(t, w)
	gone, answered, stale := b.operation(
		ada, 2, position+7, bob.ID,
	), b.operation(ada, 1, position, bob.ID), b.operation(ada, 2, position, bob.ID)
	stale.Fence.Epoch--
	for name, w := range map[string]journal.Write{"no message": gone, "a receipt": answered, "stale": stale} {
		tx := b.begin(t, "default")
		_, err := tx.Exec(b.ctx, "INSERT INTO accounts (id, owner) VALUES (1, 'ada')", nil)
		require.NoError(t, err)
		err = tx.Commit(b.ctx, w)
		require.Error(t, err, name)
		require.Equal(
			t, map[bool]string{true: journal.ErrFenced.Error(), false: "another error "}[name == "stale"], sortOf(err),
			"%s: %v", name, err,
		)
		require.NoError(t, tx.Rollback(b.ctx))
		require.Empty(t, b.rows(t, "default", "SELECT id FROM accounts"), name)
		b.requireEntity(t, ada.ID, nil)
		require.Equal(t, []int{2}, b.numbers(t, ada.ID), name)
		require.Empty(t, b.inbox(t, bob.ID), name)
	}
}

func testListEntities(t *testing.T, b *bundle) {
	var all []journal.Entity
	for _, namespace := range []string{"default", "other"} {
		for _, entityType := range []string{
			"bank/Account", "bank/Account2", "bank/Teller", "bank0/Account", "bank_x/Account", "bankäx/Account",
			"shop/Cart",
		} {
			for i := range 3 {
				e := newEntity(entityType, fmt.Sprint(i))
				e.Namespace, e.ID = namespace, journal.EntityID(namespace, entityType, e.Key)
				e.CreatedAt = int64(len(all))
				all = append(all, e)
			}
		}
	}
	for i := range all {
		b.commit(t, b.replace(all[len(all)-1-i]))
	}
	slices.SortFunc(all, func(a, b journal.Entity) int { return journal.CompareEntities(&a, &b) })
	for i := range all {
		all[i].State = nil
	}
	missing := newEntity("bank/Teller", "1a")
	for name, c := range map[string]struct {
		filter journal.EntityFilter
		fits   func(journal.Entity) bool
	}{
		"all": {journal.EntityFilter{}, func(journal.Entity) bool { return true }},
		"namespace": {
			journal.EntityFilter{Namespace: "other"}, func(e journal.Entity) bool { return e.Namespace == "other" },
		},
		"no such": {journal.EntityFilter{Namespace: "missing"}, func(journal.Entity) bool { return false }},
		"type": {journal.EntityFilter{Namespace: "default", Type: "bank/Account"}, func(e journal.Entity) bool {
			return e.Namespace == "default" && e.Type == "bank/Account"
		}},
		"deployment": {
			journal.EntityFilter{Namespace: "default", Type: "bank/"},
			func(e journal.Entity) bool { return e.Namespace == "default" && e.Type < "bank0" },
		},
		"last": {
			journal.EntityFilter{Namespace: "other", Type: "shop/Cart"},
			func(e journal.Entity) bool { return e.Namespace == "other" && e.Type == "shop/Cart" },
		},
		"anyone's": {
			journal.EntityFilter{Type: "bank/Teller"}, func(e journal.Entity) bool { return e.Type == "bank/Teller" },
		},
		"everywhere": {
			journal.EntityFilter{Type: "bank_x/"}, func(e journal.Entity) bool { return e.Type == "bank_x/Account" },
		},
		"not a pattern": {journal.EntityFilter{Type: "bank%/"}, func(journal.Entity) bool { return false }},
		"half a name": {
			journal.EntityFilter{Namespace: "default", Type: "bank/Acc"}, func(journal.Entity) bool { return false },
		},
		"behind": {
			journal.EntityFilter{Namespace: "default", Type: "shop/", After: &all[4]},
			func(e journal.Entity) bool {
				return e.Namespace == "default" && e.Type == "shop/Cart"
			},
		},
		"behind all": {
			journal.EntityFilter{Namespace: "default", Type: "bank/", After: &all[20]},
			func(journal.Entity) bool { return false },
		},
		"behind the namespace": {
			journal.EntityFilter{Namespace: "default", After: &all[40]}, func(journal.Entity) bool { return false },
		},
		"before the namespace": {
			journal.EntityFilter{Namespace: "other", After: &all[4]},
			func(e journal.Entity) bool { return e.Namespace == "other" },
		},
		"behind one that is not": {
			journal.EntityFilter{Namespace: "default", After: &missing},
			func(e journal.Entity) bool {
				return e.Namespace == "default" && (e.Type > "bank/Teller" || e.Type == "bank/Teller" && e.Key > "1a")
			},
		},
	} {
		var want []journal.Entity
		for _, e := range all {
			if c.fits(e) {
				want = append(want, e)
			}
		}
		got, err := b.store.ListEntities(b.ctx, c.filter)
		require.NoError(t, err, name)
		require.ElementsMatch(t, want, got, name)
		require.Equal(t, want, append([]journal.Entity(nil), got...), name)
		var paged []journal.Entity
		for filter := c.filter; ; {
			filter.Limit = 2
			page, err := b.store.ListEntities(b.ctx, filter)
			require.NoError(t, err, name)
			if len(page) == 0 {
				break
			}
			require.LessOrEqual(t, len(page), 2)
			paged = append(paged, page...)
			filter.After = &page[len(page)-1]
		}
		require.Equal(t, want, paged, name)
	}
}

func testListEntitiesBounds(t *testing.T, b *bundle) {
	var writes []journal.Write
	for i := range 105 {
		writes = append(writes, b.replace(newEntity("bank/Account", fmt.Sprint(i))))
	}
	_, err := b.store.Commit(b.ctx, writes)
	require.NoError(t, err)
	page, err := b.store.ListEntities(b.ctx, journal.EntityFilter{})
	require.NoError(t, err)
	require.Len(t, page, 100, "the default")
	for _, limit := range []int{-1, 1001} {
		_, err := b.store.ListEntities(b.ctx, journal.EntityFilter{Limit: limit})
		require.Equal(t, abi.CodeBadRequest, abi.CodeOf(err), limit)
	}
}
