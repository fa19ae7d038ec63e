package postgres

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// A list with conditions looks at the rows with one value, newest first, or at the rows of a range.
func TestWherePlans(t *testing.T) {
	t.Parallel()
	store, fences := openInside(t)
	const executions = 3000
	rows := make([]journal.Execution, executions)
	writes := make([]journal.Write, executions)
	for i := range rows {
		key := fmt.Sprintf("%04d", i)
		id := journal.IDOf("default", "orders/Process", key)
		rows[i] = journal.Execution{
			ID:        id,
			Run:       journal.RunID(id),
			Namespace: "default",
			Workflow:  "orders/Process",
			Key:       key,
			State:     journal.Running,
			CreatedAt: int64(i + 1),
		}
		writes[i] = journal.Write{
			ID:    id,
			Run:   journal.RunID(id),
			Fence: fences[id.Shard()],
			Publish: &journal.Published{Attributes: []journal.NamedAttribute{
				{Name: "amount", Attribute: abi.Attribute{Type: abi.AttributeNumber, Number: float64(i)}},
				{
					Name:      "customer",
					Attribute: abi.Attribute{Type: abi.AttributeText, Text: fmt.Sprint("customer ", i%2)},
				},
			}},
		}
	}
	store.start(t, fences, rows)
	_, err := store.Commit(t.Context(), writes)
	require.NoError(t, err)
	for _, table := range []string{store.sql.attributes, store.sql.executions} {
		_, err := store.main.Exec(t.Context(), "ANALYZE "+table)
		require.NoError(t, err)
	}
	customer := journal.Condition{
		Name: "customer", Operator: "=", Value: abi.Attribute{Type: abi.AttributeText, Text: "customer 1"},
	}
	amount := func(operator string, n float64) journal.Condition {
		return journal.Condition{
			Name: "amount", Operator: operator, Value: abi.Attribute{Type: abi.AttributeNumber, Number: n},
		}
	}
	for name, c := range map[string]struct {
		filter       journal.Filter
		want, walked int
	}{
		"one value of many": {journal.Filter{Where: []journal.Condition{customer}}, 20, 45},
		"of all namespaces": {journal.Filter{Namespace: " ", Where: []journal.Condition{customer}}, 20, 50},
		"with a state":      {journal.Filter{State: journal.Running, Where: []journal.Condition{customer}}, 20, 70},
		"few of a range":    {journal.Filter{Where: []journal.Condition{amount(">=", executions-10)}}, 10, 25},
		"with a range":      {journal.Filter{Where: []journal.Condition{amount("<", executions), customer}}, 20, 90},
	} {
		if c.filter.Namespace == "" {
			c.filter.Namespace = "default"
		} else {
			c.filter.Namespace = ""
		}
		c.filter.Limit = 20
		page, err := store.List(t.Context(), c.filter)
		require.NoError(t, err, name)
		require.Len(t, page.Executions, c.want, name)
		query, args := store.sql.whereQuery(c.filter, c.filter.Limit+1, journal.Wake{})
		p := store.explain(t, query, args...)
		requireIndexed(t, p, "attributes_value", name)
		require.LessOrEqual(t, p.walked(), float64(c.walked), "%s: %+v", name, p)
	}
}

// Locks are listed from where a page begins to where it ends.
func TestLockPlans(t *testing.T) {
	t.Parallel()
	store, fences := openInside(t)
	var writes []journal.Write
	for i := range 3000 {
		l := &journal.Lock{
			Namespace: "default",
			Type:      "bank/Account",
			Key:       fmt.Sprint(i),
			Holder:    journal.Caller{Step: journal.StepID{1}},
		}
		if i%100 == 0 {
			l.Namespace = "rare"
		}
		l.Entity = journal.EntityID(l.Namespace, l.Type, l.Key)
		writes = append(writes, journal.Write{ID: l.Entity, Fence: fences[l.Entity.Shard()], Lock: l})
	}
	_, err := store.Commit(t.Context(), writes)
	require.NoError(t, err)
	_, err = store.main.Exec(t.Context(), "ANALYZE "+store.sql.locks)
	require.NoError(t, err)
	for namespace, index := range map[string]string{"": "locks_pkey", "rare": "locks_namespace"} {
		p := store.explain(t, store.sql.locksQuery(namespace), int16(9), []byte{9}, 20, namespace)
		require.True(t, p.has(func(p explained) bool { return p.IndexName == index }), "%q: %+v", namespace, p)
		require.LessOrEqual(t, p.walked(), 45.0, "%q: %+v", namespace, p)
	}
}
