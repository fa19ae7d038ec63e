package postgres_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/internal/pgtest"
	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/journal/postgres"
)

// testBundle is a store with claimed shards, one running execution, and a superuser's connection to look behind it.
type testBundle struct {
	admin  *pgx.Conn
	fences []journal.Fence
	id     journal.ID
	schema string
	store  *postgres.Store
}

func setup(t *testing.T, c postgres.Config) *testBundle {
	t.Helper()
	b := &testBundle{schema: pgtest.Schema(t)}
	c.Schema = b.schema
	b.store = open(t, c)
	var err error
	b.fences, err = b.store.ClaimShards(t.Context(), "test")
	require.NoError(t, err)
	b.id = journal.IDOf("default", "bank/Transfer", "k")
	w := b.write()
	w.Start = &journal.Execution{
		ID: b.id, Run: w.Run, Namespace: "default", Workflow: "bank/Transfer", Key: "k", State: journal.Running,
	}
	require.Equal(t, journal.Result{}, b.commit(t, w))
	b.admin, err = pgx.Connect(t.Context(), pgtest.DSN(t))
	require.NoError(t, err)
	t.Cleanup(func() { _ = b.admin.Close(context.Background()) })
	return b
}

func (b *testBundle) write() journal.Write {
	return journal.Write{ID: b.id, Run: journal.RunID(b.id), Fence: b.fences[b.id.Shard()]}
}

// run is the key of the run's rows.
func (b *testBundle) run() journal.RunKey { return journal.KeyOf(b.id, journal.RunID(b.id)) }

// entry is a write that appends one entry.
func (b *testBundle) entry(seq uint64) journal.Write {
	w := b.write()
	w.Entries = []journal.Entry{{Seq: seq, Kind: journal.Delivery, Value: abi.Nil}}
	return w
}

func (b *testBundle) commit(t *testing.T, w journal.Write) journal.Result {
	t.Helper()
	results, err := b.store.Commit(t.Context(), []journal.Write{w})
	require.NoError(t, err)
	return results[0]
}

func (b *testBundle) entries(t *testing.T) int {
	t.Helper()
	entries, _, err := b.store.Entries(t.Context(), b.run(), 0, journal.PageLimit{Entries: 1000})
	require.NoError(t, err)
	return len(entries)
}

// deploy makes tables in a namespace.
func (b *testBundle) deploy(t *testing.T, namespace, sql string) {
	t.Helper()
	_, err := b.push(t.Context(), journal.Deployment{Namespace: namespace, Name: "bank", Digest: "sha256:01"},
		[]abi.Migration{{Version: 1, Name: "tables", SQL: sql}})
	require.NoError(t, err)
}

// push makes a deployment under the fence that was claimed.
func (b *testBundle) push(
	ctx context.Context, d journal.Deployment, steps []abi.Migration,
) (journal.Deployment, error) {
	return b.store.Deploy(ctx, b.fences[d.Shard()], journal.Module{Digest: d.Digest}, d, steps)
}

func (b *testBundle) begin(t *testing.T, namespace string) journal.GuestTx {
	t.Helper()
	tx, err := b.store.BeginGuest(t.Context(), namespace)
	require.NoError(t, err)
	t.Cleanup(func() { _ = tx.Rollback(context.Background()) })
	return tx
}

// count looks at a guest's table as a superuser.
func (b *testBundle) count(t *testing.T, namespace, table string) (n int) {
	t.Helper()
	name := pgx.Identifier{b.schema + "__" + namespace, table}.Sanitize()
	require.NoError(t, b.admin.QueryRow(t.Context(), `SELECT count(*) FROM `+name).Scan(&n))
	return n
}

// waitForLocks waits until so many sessions of the store wait for a lock on a table: ".modules" of Cruster, or
// "__NAMESPACE.table" of a module.
func (b *testBundle) waitForLocks(t *testing.T, table string, sessions int) {
	t.Helper()
	require.Eventually(t, func() bool {
		var waiting int
		err := b.admin.QueryRow(
			t.Context(), `SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = $1::regclass`, b.schema+table,
		).Scan(&waiting)
		return err == nil && waiting == sessions
	}, patience, 10*time.Millisecond)
}

func replaceSchema(sql, schema string) string { return strings.ReplaceAll(sql, "SCHEMA", schema) }

func isConflict(err error) bool { return errors.Is(err, journal.ErrConflict) }
