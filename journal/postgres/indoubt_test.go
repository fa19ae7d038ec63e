package postgres_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/journal/postgres"
)

const accounts = `CREATE TABLE accounts (id BIGINT PRIMARY KEY, balance BIGINT NOT NULL CHECK (balance >= 0));
	INSERT INTO accounts VALUES (1, 100), (2, 100)`

// After a lost answer the caller does not know whether its commit took effect: the store says so, and the caller can
// look.
func TestLostAnswerOfABatchIsUndecided(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		cut     int32
		entries int
	}{"the commit took effect": {loseAnswer, 1}, "the commit was lost": {loseRequest, 0}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProxy(t)
			b := setup(t, postgres.Config{DSN: p.dsn})
			p.cut.Store(c.cut)
			_, err := b.store.Commit(t.Context(), []journal.Write{b.entry(1)})
			require.ErrorIs(t, err, journal.ErrUndecided)
			require.Equal(t, letPass, p.cut.Load(), "the connection was cut")
			require.Equal(t, c.entries, b.entries(t))

			result := b.commit(t, b.entry(1))
			require.Equal(t, c.entries == 1, result.Err != nil, "a repetition is noticed by its sequence number")
			require.Equal(t, 1, b.entries(t))
		})
	}
}

func TestLostAnswerOfAGuestCommitIsUndecided(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		cut  int32
		rows int
	}{"the commit took effect": {loseAnswer, 1}, "the commit was lost": {loseRequest, 0}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProxy(t)
			b := setup(t, postgres.Config{DSN: p.dsn})
			b.deploy(t, "default", "CREATE TABLE t (a BIGINT)")
			tx := b.begin(t, "default")
			_, err := tx.Exec(t.Context(), "INSERT INTO t VALUES ($1)", []any{int64(1)})
			require.NoError(t, err)
			p.cut.Store(c.cut)
			err = tx.Commit(t.Context(), b.entry(1))
			require.ErrorIs(t, err, journal.ErrUndecided)
			require.NoError(t, tx.Rollback(t.Context()))
			require.Equal(t, c.rows, b.entries(t))
			require.Equal(t, c.rows, b.count(t, "default", "t"), "rows and entry, or neither")
		})
	}
}

// The worst case: the client is gone, and the server still works on the commit. A caller that then looks must not find
// "nothing" before that is final.
func TestUndecidedCommitIsOverWhenItIsLookedUp(t *testing.T) {
	t.Parallel()
	p := newProxy(t)
	b := setup(t, postgres.Config{DSN: p.dsn})
	b.deploy(t, "default", "CREATE TABLE t (a BIGINT)")
	tx := b.begin(t, "default")
	_, err := tx.Exec(t.Context(), "INSERT INTO t VALUES ($1)", []any{int64(1)})
	require.NoError(t, err)

	// Both commits will wait on the server to see the fate of these rows.
	lock, err := b.admin.Begin(t.Context())
	require.NoError(t, err)
	_, err = lock.Exec(
		t.Context(),
		replaceSchema("INSERT INTO SCHEMA.entries VALUES ($1, $2, 1, 1, ''), ($1, $2, 2, 2, '')", b.schema),
		int16(b.id.Shard()), b.id[:],
	)
	require.NoError(t, err)
	p.cut.Store(loseClient)
	_, err = b.store.Commit(t.Context(), []journal.Write{b.entry(1)})
	require.ErrorIs(t, err, journal.ErrUndecided)
	p.cut.Store(loseClient)
	require.ErrorIs(t, tx.Commit(t.Context(), b.entry(2)), journal.ErrUndecided)

	require.Zero(t, b.entries(t))
	require.NoError(t, lock.Rollback(t.Context()))
	require.Equal(t, journal.Result{}, b.commit(t, b.entry(3)), "behind the lost ones in any queue")
	require.Equal(t, 1, b.entries(t), "what was not there when it was looked up never comes")
	require.Zero(t, b.count(t, "default", "t"))
}

func TestTerminatedGuestLeavesNothing(t *testing.T) {
	t.Parallel()
	b := setup(t, postgres.Config{})
	b.deploy(t, "default", accounts)
	tx := b.begin(t, "default")
	_, err := tx.Exec(t.Context(), "UPDATE accounts SET balance = balance - 10 WHERE id = $1", []any{int64(1)})
	require.NoError(t, err)
	var terminated bool
	require.NoError(
		t,
		b.admin.QueryRow(t.Context(), `SELECT bool_or(pg_terminate_backend(pid, 5000)) FROM pg_stat_activity
		WHERE application_name = 'cruster-guest' AND state = 'idle in transaction' AND pid IN
			(SELECT l.pid FROM pg_locks l JOIN pg_class c ON c.oid = l.relation
				JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1)`,
			b.schema+"__default").Scan(&terminated),
	)
	require.True(t, terminated)

	_, err = tx.Exec(t.Context(), "UPDATE accounts SET balance = balance + 10 WHERE id = $1", []any{int64(2)})
	require.Equal(t, abi.CodeStore, abi.CodeOf(err), "%v", err)
	require.Error(t, tx.Commit(t.Context(), b.entry(1)))
	require.NoError(t, tx.Rollback(t.Context()))
	require.Zero(t, b.entries(t))

	again := b.begin(t, "default")
	_, rows, err := again.Query(t.Context(), "SELECT balance FROM accounts ORDER BY id", nil)
	require.NoError(t, err)
	require.Equal(t, [][]any{{int64(100)}, {int64(100)}}, rows)
}

func TestTerminatedCommitterRecovers(t *testing.T) {
	t.Parallel()
	b := setup(t, postgres.Config{MaxConns: 1})
	_, err := b.admin.Exec(t.Context(), `SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
		WHERE application_name = 'cruster' AND query LIKE '%' || $1 || '%'`, b.schema)
	require.NoError(t, err)
	// The first commit may meet the dead connection; it must not claim success.
	var last error
	for range 3 {
		results, err := b.store.Commit(t.Context(), []journal.Write{b.entry(1)})
		if last = err; err == nil {
			if results[0].Err == nil {
				require.Equal(t, 1, b.entries(t))
			}
			break
		}
	}
	require.NoError(t, last)
}
