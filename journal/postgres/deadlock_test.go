package postgres_test

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/internal/pgtest"
	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/journal/postgres"
)

// Each of two batches relies on a run whose end is in the other. Both are stopped in the middle, behind the first locks
// that they take, by an entry that a third transaction has inserted and takes back in the end. If each batch then held
// the row that the other needs, the server would roll one of them back.
func TestBatchesTakeTheirLocksInOneOrder(t *testing.T) {
	t.Parallel()
	next := journal.RunID{7}
	final := &journal.Update{State: journal.Completed, WakeAt: journal.Never, FinishedAt: 1}
	ends := map[string]func(w *journal.Write){
		"ends":      func(w *journal.Write) { w.Update = final },
		"continues": func(w *journal.Write) { w.Continue = &journal.Continuation{Run: next, Digest: "sha256:01"} },
		"is superseded": func(w *journal.Write) {
			w.Replace, w.Run = w.Run, next
			w.Start = &journal.Execution{
				ID: w.ID, Run: next, Namespace: "default", Workflow: "bank/Transfer", Key: "k", State: journal.Running,
			}
		},
	}
	relies := map[string]func(w *journal.Write, caller journal.Write) journal.Write{
		"settlement": func(w *journal.Write, _ journal.Write) journal.Write {
			w.Receive = (&journal.Deferred{Name: "d", Value: abi.Nil}).Message()
			return *w
		},
		"receipt": func(w *journal.Write, _ journal.Write) journal.Write {
			w.Receipts = []journal.Receipt{{Origin: journal.Origin{1}}}
			return *w
		},
		"link": func(w *journal.Write, caller journal.Write) journal.Write {
			caller.Link = &journal.Link{Step: journal.StepID{1}, Callee: w.ID, Chain: w.Run}
			return caller
		},
	}
	for ending, end := range ends {
		for relying, rely := range relies {
			t.Run(fmt.Sprintf("%s beside a %s", ending, relying), func(t *testing.T) {
				t.Parallel()
				b := setup(t, postgres.Config{})
				rows := [2]journal.Write{b.start(t, "first"), b.start(t, "second")}
				callers := [2]journal.Write{b.start(t, "caller 1"), b.start(t, "caller 2")}
				stoppers := [2]journal.Write{b.start(t, "stopper 1"), b.start(t, "stopper 2")}
				if ending == "is superseded" {
					for _, w := range rows {
						w.Update = final
						require.Equal(t, journal.Result{}, b.commit(t, w))
					}
				}
				release := b.stopAtEntry(t, stoppers[:])
				var group errgroup.Group
				for i := range rows {
					ended, other := rows[i], rows[1-i]
					end(&ended)
					stopped := stoppers[i]
					stopped.Entries = []journal.Entry{{Seq: 1, Kind: journal.Delivery, Value: abi.Nil}}
					batch := []journal.Write{rely(&other, callers[i]), stopped, ended}
					group.Go(func() error {
						_, err := b.store.Commit(t.Context(), batch) // whichever comes second may find its run replaced
						return err
					})
				}
				b.waitForWaiting(t, 2)
				release()
				require.NoError(t, group.Wait())
			})
		}
	}
}

// start starts an execution, and returns a write of it.
func (b *testBundle) start(t *testing.T, key string) journal.Write {
	t.Helper()
	id := journal.IDOf("default", "bank/Transfer", key)
	w := journal.Write{ID: id, Run: journal.RunID(id), Fence: b.fences[id.Shard()]}
	start := w
	start.Start = &journal.Execution{
		ID: id, Run: w.Run, Namespace: "default", Workflow: "bank/Transfer", Key: key, State: journal.Running,
	}
	require.Equal(t, journal.Result{}, b.commit(t, start))
	return w
}

// stopAtEntry stops commits of the first entry of runs, until release is called.
func (b *testBundle) stopAtEntry(t *testing.T, writes []journal.Write) (release func()) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), pgtest.DSN(t))
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	tx, err := conn.Begin(t.Context())
	require.NoError(t, err)
	for _, w := range writes {
		_, err := tx.Exec(
			t.Context(),
			`INSERT INTO `+pgx.Identifier{b.schema, "entries"}.Sanitize()+
				` (shard, run, seq, last, body) VALUES ($1, $2, 1, 1, '')`,
			int16(w.ID.Shard()), w.Run[:],
		)
		require.NoError(t, err)
	}
	return func() { require.NoError(t, tx.Rollback(t.Context())) }
}

// waitForWaiting waits until so many sessions of the store wait for the end of another's transaction, or for a row.
func (b *testBundle) waitForWaiting(t *testing.T, sessions int) {
	t.Helper()
	require.Eventually(t, func() bool {
		var waiting int
		err := b.admin.QueryRow(t.Context(), `SELECT count(DISTINCT w.pid) FROM pg_locks w JOIN pg_locks o USING (pid)
			WHERE NOT w.granted AND w.locktype IN ('transactionid', 'tuple') AND o.relation = $1::regclass`, b.schema+
			".executions").Scan(&waiting)
		return err == nil && waiting == sessions
	}, patience, 10*time.Millisecond)
}

// A run is deleted while its parent ends, in a batch that has a link to the run as well. The deletion is stopped in the
// middle by a receipt that a third transaction has locked.
func TestDeleteTakesItsLocksInTheOrderOfBatches(t *testing.T) {
	t.Parallel()
	b := setup(t, postgres.Config{})
	parent, child := b.start(t, "parent"), journal.Write{}
	for i := 0; bytes.Compare(child.ID[:], parent.ID[:]) <= 0; i++ {
		key := fmt.Sprint("child ", i)
		id := journal.IDOf("default", "bank/Transfer", key)
		child = journal.Write{ID: id, Run: journal.RunID(id), Fence: b.fences[id.Shard()], Start: &journal.Execution{
			ID:         id,
			Run:        journal.RunID(id),
			Namespace:  "default",
			Workflow:   "bank/Transfer",
			Key:        key,
			State:      journal.Completed,
			FinishedAt: 1,
			Parent:     journal.Caller{ID: parent.ID, Run: parent.Run, Step: journal.StepID{1}},
		}}
	}
	child.Receipts = []journal.Receipt{{Origin: journal.Origin{1}}}
	require.Equal(t, journal.Result{}, b.commit(t, child))
	caller := b.start(t, "caller")
	caller.Link = &journal.Link{Step: journal.StepID{2}, Callee: child.ID, Chain: child.Run}
	parent.Update = &journal.Update{State: journal.Completed, WakeAt: journal.Never, FinishedAt: 1}

	tx, err := b.admin.Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), `SELECT FROM `+pgx.Identifier{b.schema, "receipts"}.Sanitize()+` FOR UPDATE`)
	require.NoError(t, err)
	var group errgroup.Group
	group.Go(func() error { return b.store.Delete(t.Context(), b.fences[child.ID.Shard()], child.ID, child.Run, 0) })
	b.waitForWaiting(t, 1)
	group.Go(func() error {
		_, err := b.store.Commit(t.Context(), []journal.Write{caller, parent})
		return err
	})
	b.waitForWaiting(t, 2)
	require.NoError(t, tx.Rollback(t.Context()))
	require.NoError(t, group.Wait())
}
