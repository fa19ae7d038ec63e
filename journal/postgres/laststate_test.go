package postgres_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/internal/pgtest"
	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/journal/postgres"
)

// TestStateSavedBesideTheEnd saves the state of a run while a transaction that ends the run is under way. Neither waits
// for the other, and the state goes with the run.
func TestStateSavedBesideTheEnd(t *testing.T) {
	t.Parallel()
	final := &journal.Update{State: journal.Completed, WakeAt: journal.Never, Value: abi.Nil, FinishedAt: 1}
	saving := func(b *testBundle) journal.Write {
		w := b.write()
		w.Hibernate = &journal.Hibernated{Seq: 1, Body: []byte("state")}
		return w
	}
	requireSwept := func(t *testing.T, b *testBundle) {
		row, err := b.store.Load(t.Context(), b.id)
		require.NoError(t, err)
		require.True(t, row.State.Final())
		n, err := b.store.Sweep(t.Context(), b.fences, journal.Never, 10)
		require.NoError(t, err)
		require.Equal(t, 1, n)
		_, err = b.store.Purge(t.Context(), b.fences, 1000)
		require.NoError(t, err)
		_, err = b.store.Hibernated(t.Context(), b.run())
		require.ErrorIs(t, err, journal.ErrNotFound, "the state outlives its run")
	}
	t.Run("a transaction of a guest ends it", func(t *testing.T) {
		t.Parallel()
		b := setup(t, postgres.Config{})
		b.deploy(t, "default", "CREATE TABLE t (a BIGINT)")
		tx := b.begin(t, "default")
		_, err := tx.Exec(t.Context(), "INSERT INTO t VALUES ($1)", []any{int64(1)})
		require.NoError(t, err)
		b.commit(t, saving(b))
		w := b.entry(1)
		w.Update = final
		require.NoError(t, tx.Commit(t.Context(), w))
		requireSwept(t, b)
	})
	t.Run("another batch ends it", func(t *testing.T) {
		t.Parallel()
		b := setup(t, postgres.Config{})
		// A row with the same key that is not committed holds the state up.
		other, err := pgx.Connect(t.Context(), pgtest.DSN(t))
		require.NoError(t, err)
		defer func() { _ = other.Close(context.Background()) }()
		_, err = other.Exec(t.Context(), "BEGIN")
		require.NoError(t, err)
		table := pgx.Identifier{b.schema, "hibernated"}.Sanitize()
		_, err = other.Exec(
			t.Context(), "INSERT INTO "+table+" (shard, run, seq, body) VALUES ($1, $2, 0, 'x')", int16(b.id.Shard()),
			b.id[:],
		)
		require.NoError(t, err)
		saved := make(chan error, 1)
		go func() {
			_, err := b.store.Commit(context.Background(), []journal.Write{saving(b)})
			saved <- err
		}()
		require.Eventually(t, func() bool {
			var waiting int
			err := b.admin.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity
				WHERE wait_event = 'transactionid' AND query LIKE '%'||$1||'%hibernated%'`, b.schema).Scan(&waiting)
			return err == nil && waiting == 1
		}, patience, 10*time.Millisecond)
		w := b.entry(1)
		w.Update = final
		b.commit(t, w)
		_, err = other.Exec(t.Context(), "ROLLBACK")
		require.NoError(t, err)
		require.NoError(t, <-saved)
		requireSwept(t, b)
	})
}
