package postgres

import (
	"context"
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// send puts so many messages into the inbox of an entity.
func (s *Store) send(t *testing.T, fences []journal.Fence, to journal.ID, n int) {
	w := journal.Write{ID: to, Fence: fences[to.Shard()]}
	for i := range n {
		m := journal.Message{Envelope: journal.Envelope{Kind: journal.CallMessage, Bytes: 1}, Value: []byte{1}}
		binary.BigEndian.PutUint32(m.Origin[:], uint32(i+1))
		w.Send = append(w.Send, journal.Sent{To: to, Message: m})
	}
	results, err := s.Commit(t.Context(), []journal.Write{w})
	require.NoError(t, err)
	require.NoError(t, results[0].Err)
}

func requireIndexed(t *testing.T, p explained, index, name string) {
	t.Helper()
	require.False(t, p.has(func(p explained) bool { return p.NodeType == "Seq Scan" }), "%s: %+v", name, p)
	require.True(t, p.has(func(p explained) bool { return p.IndexName == index }), "%s: %+v", name, p)
}

// Receivers are found by leaping from one to the next, however many messages they have.
func TestReceiversLeap(t *testing.T) {
	t.Parallel()
	store, fences := openInside(t)
	for i := range 5 {
		store.send(t, fences, journal.EntityID("default", "bank/Account", fmt.Sprint(i)), 2000)
	}
	_, err := store.main.Exec(t.Context(), "ANALYZE "+store.sql.inbox)
	require.NoError(t, err)
	p := store.explain(t, store.sql.receiversQuery(), int16(0), make([]byte, 16), 100)
	requireIndexed(t, p, "inbox_entities", "receivers")
	// A row each, of messages that are not parked.
	require.LessOrEqual(t, p.walked(), 6.0, "%+v", p)
}

// Entities are listed from where a page begins to where it ends.
func TestEntityPlans(t *testing.T) {
	t.Parallel()
	store, fences := openInside(t)
	var writes []journal.Write
	for i := range 3000 {
		e := &journal.Entity{Namespace: "default", Type: "bank/Account", Key: fmt.Sprintf("%04d", i)}
		switch {
		case i < 3:
			e.Type = "orders/Rare"
		case i%3 == 0:
			e.Type = "shop/Cart"
		}
		e.ID = journal.EntityID(e.Namespace, e.Type, e.Key)
		writes = append(writes, journal.Write{ID: e.ID, Fence: fences[e.ID.Shard()], Entity: e})
	}
	_, err := store.Commit(t.Context(), writes)
	require.NoError(t, err)
	_, err = store.main.Exec(t.Context(), "ANALYZE "+store.sql.entities)
	require.NoError(t, err)
	for name, c := range map[string]struct {
		filter journal.EntityFilter
		want   int
	}{
		"all":        {journal.EntityFilter{}, 20},
		"namespace":  {journal.EntityFilter{Namespace: "default"}, 20},
		"type":       {journal.EntityFilter{Namespace: "default", Type: "shop/Cart"}, 20},
		"rare":       {journal.EntityFilter{Namespace: "default", Type: "orders/Rare"}, 3},
		"deployment": {journal.EntityFilter{Namespace: "default", Type: "orders/"}, 3},
		"deep": {journal.EntityFilter{Namespace: "default", Type: "bank/", After: &journal.Entity{
			Namespace: "default", Type: "bank/Account", Key: "2900",
		}}, 20},
	} {
		c.filter.Limit = 20
		page, err := store.ListEntities(t.Context(), c.filter)
		require.NoError(t, err, name)
		require.Len(t, page, c.want, name)
		query, bound := store.sql.reads.Entities(&c.filter)
		place := c.filter.Place()
		p := store.explain(t, query, place.Namespace, place.Type, place.Key, bound, c.filter.Type, c.filter.Limit)
		requireIndexed(t, p, "entities_name", name)
		require.LessOrEqual(t, p.walked(), 25.0, "%s: %+v", name, p)
	}
}

// Retention does not walk over receipts that it has found must be kept.
func TestSweepReceiptsDoesNotRescan(t *testing.T) {
	t.Parallel()
	store, fences := openInside(t)
	sender := journal.IDOf("default", "orders/Process", "sender")
	store.start(t, fences, []journal.Execution{{
		ID:        sender,
		Run:       journal.RunID(sender),
		Namespace: "default",
		Workflow:  "orders/Process",
		State:     journal.Running,
	}})
	entity := journal.EntityID("default", "bank/Account", "ada")
	w := journal.Write{ID: entity, Fence: fences[entity.Shard()]}
	for i := range 3000 {
		r := journal.Receipt{From: journal.Caller{ID: sender, Run: journal.RunID(sender)}, At: int64(i)}
		binary.BigEndian.PutUint32(r.Origin[:], uint32(i+1))
		w.Receipts = append(w.Receipts, r)
	}
	results, err := store.Commit(t.Context(), []journal.Write{w})
	require.NoError(t, err)
	require.NoError(t, results[0].Err)
	_, err = store.main.Exec(t.Context(), "ANALYZE "+store.sql.receipts)
	require.NoError(t, err)
	look := func() explained {
		return store.explain(
			t, store.sql.selectOldReceipts(), allShards, journal.Never, int16(0), int64(-1), make([]byte, 16),
			make([]byte, 16), journal.SweepBatch,
		)
	}
	p := look()
	requireIndexed(t, p, "receipts_old", "before")
	require.GreaterOrEqual(t, p.walked(), float64(journal.SweepBatch))
	n, err := store.SweepReceipts(t.Context(), fences, journal.Never, 500)
	require.NoError(t, err)
	require.Zero(t, n)
	require.Zero(t, look().walked(), "what is kept is not looked at again")
}

// The statements that run with each message find their rows by an index, also if the server plans them for any
// argument.
func TestMailPlans(t *testing.T) {
	t.Parallel()
	store, fences := openInside(t)
	to := journal.EntityID("default", "bank/Account", "0")
	store.send(t, fences, to, 3000)
	run := journal.IDOf("default", "orders/Process", "k")
	store.start(t, fences, []journal.Execution{{
		ID: run, Run: journal.RunID(run), Namespace: "default", Workflow: "orders/Process", State: journal.Running,
	}})
	long := journal.Write{ID: run, Run: journal.RunID(run), Fence: fences[run.Shard()]}
	for seq := range uint64(3000) {
		long.Entries = append(long.Entries, journal.Entry{Seq: seq + 1})
	}
	_, err := store.Commit(t.Context(), []journal.Write{long})
	require.NoError(t, err)
	conn, err := store.main.Acquire(t.Context())
	require.NoError(t, err)
	defer conn.Release()
	for _, query := range []string{
		"SET plan_cache_mode = force_generic_plan", "ANALYZE " + store.sql.inbox, "ANALYZE " + store.sql.entries,
	} {
		_, err := conn.Exec(t.Context(), query)
		require.NoError(t, err)
	}
	defer func() {
		_, err := conn.Exec(t.Context(), "RESET plan_cache_mode")
		require.NoError(t, err)
	}()
	for name, args := range map[string]string{
		stmtTakes:      "'{1}', '{x}', '{x}', '{1}', 0, '{1}', '{x}', '{x}', '{x}'",
		stmtRoom:       "'{1}', '{x}', '{x}', '{1}', '{1}', '{10000}', '{1000000}'",
		stmtHoldMail:   "'{1}', '{x}', '{x}', '{1}', 0",
		stmtPark:       "'{1}', '{x}', '{x}', '{1}', '{x}', '{n}', '{t}', '{k}', 0",
		stmtUnpark:     "'{1}', '{x}', '{x}', '{1}', 0",
		stmtContinue:   "'{1}', '{x}', '{x}', '{x}', '{x}', '{x}', '{x}', 'x', 0, '{x}'",
		stmtEntries:    "'{1}', '{x}', '{1}', '{1}', '{x}', 0",
		stmtSupersede:  "'{1}', '{x}', '{x}', 0",
		stmtUnanswered: "'{1}', '{x}', '{x}', '{x}'",
		stmtMailLenient: "'{1}', '{x}', '{x}', '{x}', '{k}', '{n}', '{1}', '{t}', '{f}', '{1}', '{x}', '{x}', '{x}', " +
			"'{x}', '{x}'",
		stmtDestroys: "'{1}', '{x}'",
	} {
		rows, err := conn.Query(t.Context(), "EXPLAIN EXECUTE "+name+" ("+args+")")
		require.NoError(t, err, name)
		var plan string
		for rows.Next() {
			var line string
			require.NoError(t, rows.Scan(&line))
			plan += line + "\n"
		}
		require.NoError(t, rows.Err(), name)
		require.NotContains(t, plan, "Seq Scan on inbox", name)
		require.NotContains(t, plan, "Seq Scan on entries", name)
		require.NotContains(t, plan, "Seq Scan on executions", name)
	}
}

// The usual writes of hosts are committed without looking first: one round trip.
func TestCommonWritesAreOneFlight(t *testing.T) {
	t.Parallel()
	store, fences := openInside(t)
	id, entity := journal.IDOf("default", "orders/Process", "k"), journal.EntityID("default", "bank/Account", "ada")
	store.start(t, fences, []journal.Execution{{
		ID: id, Run: journal.RunID(id), Namespace: "default", Workflow: "orders/Process", State: journal.Running,
	}})
	of := func(id journal.ID, fill func(*journal.Write)) *journal.Write {
		w := &journal.Write{ID: id, Fence: fences[id.Shard()]}
		if id != entity {
			w.Run = journal.RunID(id)
		}
		fill(w)
		return w
	}
	message := func(n byte) *journal.Message {
		return &journal.Message{
			Envelope: journal.Envelope{Kind: journal.CallMessage, Name: "n", Origin: journal.Origin{n}},
		}
	}
	var position uint64
	for _, c := range []struct {
		name   string
		writes []*journal.Write
		want   journal.Result // of the first
	}{
		{name: "a signal", writes: []*journal.Write{of(id, func(w *journal.Write) { w.Receive = message(1) })}},
		{name: "a turn", writes: []*journal.Write{of(id, func(w *journal.Write) {
			w.Take, w.Entries, w.Update = []uint64{
				position,
			}, []journal.Entry{{Seq: 1}}, &journal.Update{State: journal.Running}
			w.Receipts = []journal.Receipt{{Origin: journal.Origin{1}}}
		})}},
		{
			name:   "a signal that was taken",
			want:   journal.Result{Existed: true},
			writes: []*journal.Write{of(id, func(w *journal.Write) { w.Receive = message(1) })},
		},
		{name: "many at once", writes: []*journal.Write{
			of(id, func(w *journal.Write) { w.Receive = message(2) }),
			of(id, func(w *journal.Write) {
				w.Entries, w.Update = []journal.Entry{{Seq: 2}}, &journal.Update{State: journal.Running}
			}),
			of(entity, func(w *journal.Write) { w.Send = []journal.Sent{{To: entity, Message: *message(2)}} }),
			of(entity, func(w *journal.Write) { w.Receive = message(3) }),
		}},
		{
			name:   "a signal that is there",
			want:   journal.Result{Existed: true},
			writes: []*journal.Write{of(id, func(w *journal.Write) { w.Receive = message(2) })},
		},
		{name: "a call", writes: []*journal.Write{of(entity, func(w *journal.Write) { w.Receive = message(1) })}},
		{name: "an operation", writes: []*journal.Write{of(entity, func(w *journal.Write) {
			w.Take, w.Receipts = []uint64{position}, []journal.Receipt{{Origin: journal.Origin{1}}}
			w.Entity = &journal.Entity{ID: entity, Namespace: "default", Type: "bank/Account", Key: "ada"}
			w.Send = []journal.Sent{{To: id, Message: *message(4)}, {To: entity, Message: *message(2)}}
		})}},
		{name: "a lock", writes: []*journal.Write{of(entity, func(w *journal.Write) {
			w.Lock = &journal.Lock{Entity: entity, Holder: journal.Caller{ID: id, Run: journal.RunID(id)}}
		})}},
		{name: "a section and what is published", writes: []*journal.Write{of(id, func(w *journal.Write) {
			w.Update = &journal.Update{State: journal.Running, Section: journal.StepID{1}}
			w.Publish = &journal.Published{
				Attributes: []journal.NamedAttribute{{
					Name: "a", Attribute: abi.Attribute{Type: abi.AttributeText, Text: "x"},
				}},
			}
		})}},
		{name: "a run that continues", writes: []*journal.Write{of(id, func(w *journal.Write) {
			w.Continue = &journal.Continuation{Run: journal.RunID{1}}
		})}},
	} {
		if len(c.writes[0].Take) > 0 {
			c.writes[0].Take[0] = position
		}
		require.True(t, independent(c.writes), c.name)
		var results []journal.Result
		err := store.use(
			t.Context(),
			store.writes,
			store.config.CallLimit,
			func(ctx context.Context, conn *pgxpool.Conn) (err error) {
				results, err = store.commitOptimistic(ctx, conn, c.writes)
				return err
			},
		)
		require.NoError(t, err, c.name)
		position = results[0].Position
		results[0].Position = 0
		require.Equal(t, c.want, results[0], c.name)
	}
}
