package postgres_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/internal/pgtest"
	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/journal/postgres"
)

// Each of two batches relies on a run whose end is in the other. Both are stopped in the middle, behind the first locks that
// they take, by an entry that a third transaction has inserted and takes back in the end. If each batch then held the row that
// the other needs, the server would roll one of them back.
func TestBatchesTakeTheirLocksInOneOrder(t *testing.T) {
	t.Parallel()
	next := journal.RunID{7}
	final := &journal.Update{State: journal.Completed, WakeAt: journal.Never, FinishedAt: 1}
	ends := map[string]func(w *journal.Write){
		"ends":      func(w *journal.Write) { w.Update = final },
		"continues": func(w *journal.Write) { w.Continue = &journal.Continuation{Run: next, Digest: "sha256:01"} },
		"is superseded": func(w *journal.Write) {
			w.Replace, w.Run = w.Run, next
			w.Start = &journal.Execution{ID: w.ID, Run: next, Namespace: "default", Workflow: "bank/Transfer", Key: "k", State: journal.Running}
		},
	}
	relies := map[string]func(w *journal.Write, caller journal.Write) journal.Write{
		"settlement": func(w *journal.Write, _ journal.Write) journal.Write {
			w.Settle = &journal.Deferred{Name: "d", Value: abi.Nil}
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
	start.Start = &journal.Execution{ID: id, Run: w.Run, Namespace: "default", Workflow: "bank/Transfer", Key: key, State: journal.Running}
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
		_, err := tx.Exec(t.Context(), `INSERT INTO `+pgx.Identifier{b.schema, "entries"}.Sanitize()+` (shard, run, seq, last, body) VALUES ($1, $2, 1, 1, '')`,
			int16(w.ID.Shard()), w.Run[:])
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
			WHERE NOT w.granted AND w.locktype IN ('transactionid', 'tuple') AND o.relation = $1::regclass`, b.schema+".executions").Scan(&waiting)
		return err == nil && waiting == sessions
	}, patience, 10*time.Millisecond)
}

// Batches of every sort of write meet on the same few runs, which end, continue and are superseded meanwhile, beside guests that
// commit. The server never has to roll one of them back to let the others go on.
func TestBatchesDoNotDeadlock(t *testing.T) {
	t.Parallel()
	b := setup(t, postgres.Config{MaxConns: 8})
	const writers, rounds, keys = 5, 40, 5
	var ids [keys]journal.ID
	for i := range ids {
		ids[i] = b.start(t, fmt.Sprint("shared ", i)).ID
	}
	var group errgroup.Group
	for writer := range writers {
		rng := rand.New(rand.NewPCG(uint64(writer), 2))
		group.Go(func() error {
			for range rounds {
				writes := make([]journal.Write, 2+rng.IntN(6))
				for n := range writes {
					row, err := b.store.Load(t.Context(), ids[rng.IntN(keys)])
					if err != nil {
						return err
					}
					callee, err := b.store.Load(t.Context(), ids[rng.IntN(keys)])
					if err != nil {
						return err
					}
					writes[n] = journal.Write{ID: row.ID, Run: row.Run, Chain: row.Chain, Fence: b.fences[row.ID.Shard()]}
					drawChange(rng, &writes[n], row, callee)
				}
				if writer == 0 {
					tx, err := b.store.BeginGuest(t.Context(), "default")
					if err != nil {
						return err
					}
					if err := tx.Commit(t.Context(), writes[0]); sqlStateOf(err) == "40P01" {
						return err
					}
					continue
				}
				if _, err := b.store.Commit(t.Context(), writes); err != nil && (!isConflict(err) || sqlStateOf(err) == "40P01") {
					return err
				}
			}
			return nil
		})
	}
	require.NoError(t, group.Wait())
}

// drawChange draws what a write of a run does.
func drawChange(rng *rand.Rand, w *journal.Write, row, callee *journal.Execution) {
	switch rng.IntN(9) {
	case 0:
		w.Settle = &journal.Deferred{Name: fmt.Sprint(rng.Int())}
	case 1:
		w.Receive = &journal.Message{Envelope: journal.Envelope{Kind: "signal", Origin: journal.NewOrigin()}}
	case 2:
		w.Receipts = []journal.Receipt{{Origin: journal.NewOrigin()}}
	case 3:
		w.Link = &journal.Link{Step: journal.StepID(journal.NewRunID()), Callee: callee.ID, Chain: callee.Chain}
	case 4:
		w.Interrupt = &journal.Interrupt{At: 1}
	case 5:
		w.Publish = &journal.Published{Attributes: []journal.NamedAttribute{{Name: "a", Attribute: abi.Attribute{Type: abi.AttributeText, Text: "b"}}}}
	case 6:
		w.Update = &journal.Update{State: journal.Running, WakeAt: rng.Int64N(100)}
	case 7:
		w.Continue = &journal.Continuation{Run: journal.NewRunID(), Digest: "sha256:01"}
	case 8:
		w.Update = &journal.Update{State: journal.Completed, WakeAt: journal.Never, FinishedAt: 1}
	}
	if row.State.Final() && rng.IntN(2) == 0 {
		next := *row
		next.Run, next.Chain, next.State, next.FinishedAt, next.Continued = journal.NewRunID(), journal.RunID{}, journal.Running, 0, 0
		*w = journal.Write{ID: w.ID, Run: next.Run, Fence: w.Fence, Start: &next, Replace: row.Run}
	}
}

func sqlStateOf(err error) string {
	var e *pgconn.PgError
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
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
			ID: id, Run: journal.RunID(id), Namespace: "default", Workflow: "bank/Transfer", Key: key, State: journal.Completed, FinishedAt: 1,
			Parent: journal.Caller{ID: parent.ID, Run: parent.Run, Step: journal.StepID{1}},
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
	group.Go(func() error { return b.store.Delete(t.Context(), b.fences, child.ID, child.Run, 0) })
	b.waitForWaiting(t, 1)
	group.Go(func() error {
		_, err := b.store.Commit(t.Context(), []journal.Write{caller, parent})
		return err
	})
	b.waitForWaiting(t, 2)
	require.NoError(t, tx.Rollback(t.Context()))
	require.NoError(t, group.Wait())
}
