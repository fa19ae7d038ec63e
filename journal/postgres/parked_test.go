package postgres

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// TestParkedPlans: a list of parked messages looks at its own rows, however many others there are.
func TestParkedPlans(t *testing.T) {
	t.Parallel()
	store, fences := openInside(t)
	for i := range 30 {
		entityType, key := "bank/Account", fmt.Sprintf("%04d", i)
		if i < 3 {
			entityType = "orders/Rare"
		}
		id := journal.EntityID("default", entityType, key)
		store.send(t, fences, id, 100)
		envelopes, err := store.Inbox(t.Context(), journal.Receiver{ID: id}, 0)
		require.NoError(t, err)
		w := journal.Write{ID: id, Fence: fences[id.Shard()]}
		for _, e := range envelopes[:50] {
			w.Park = append(w.Park, journal.Parked{
				Position:  e.Position,
				Namespace: "default",
				Type:      entityType,
				Key:       key,
				Reason:    abi.Errorf(abi.CodeInternal, "no"),
			})
		}
		results, err := store.Commit(t.Context(), []journal.Write{w})
		require.NoError(t, err)
		require.NoError(t, results[0].Err)
	}
	_, err := store.main.Exec(t.Context(), "ANALYZE "+store.sql.inbox)
	require.NoError(t, err)
	for name, f := range map[string]journal.ParkedFilter{
		"all":        {},
		"namespace":  {Namespace: "default"},
		"deployment": {Namespace: "default", Type: "orders/"},
		"type":       {Namespace: "default", Type: "orders/Rare"},
	} {
		f.Limit = 20
		page, err := store.Parked(t.Context(), f)
		require.NoError(t, err, name)
		require.Len(t, page, 20, name)
		query, bound := store.sql.reads.Parked(&f)
		place := f.Place()
		p := store.explain(t, query, place.Namespace, place.Type, place.Key, int64(0), bound, f.Type, f.Limit)
		requireIndexed(t, p, "inbox_parked_list", name)
		require.LessOrEqual(t, p.walked(), 25.0, "%s: %+v", name, p)
	}
	id := journal.EntityID("default", "bank/Account", "0020")
	page, err := store.Parked(t.Context(), journal.ParkedFilter{Entity: id, Limit: 20})
	require.NoError(t, err)
	require.Len(t, page, 20)
	p := store.explain(t, store.sql.reads.ParkedOf, int16(id.Shard()), id[:], int64(0), 20)
	requireIndexed(t, p, "inbox_parked", "entity")
	require.LessOrEqual(t, p.walked(), 105.0, "those that are parked, and not the inbox: %+v", p)
}
