package postgres_test

import (
	"context"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/internal/pgtest"
	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/journal/postgres"
)

// adminExec runs a statement as a superuser, on a connection of its own.
func adminExec(t *testing.T, sql string, args ...any) {
	t.Helper()
	ctx := context.Background() // also for cleanups at the end of a test
	admin, err := pgx.Connect(ctx, pgtest.DSN(t))
	require.NoError(t, err)
	defer admin.Close(ctx)
	_, err = admin.Exec(ctx, sql, args...)
	require.NoError(t, err)
}

// ownDatabase is a store in a database of its own, whose settings concern no other test.
type ownDatabase struct {
	*testBundle
	name string
}

func setupOwnDatabase(t *testing.T) *ownDatabase {
	t.Helper()
	b := &ownDatabase{name: pgtest.Schema(t)}
	adminExec(t, `CREATE DATABASE `+b.name)
	u, err := url.Parse(pgtest.DSN(t))
	require.NoError(t, err)
	u.Path = "/" + b.name
	b.testBundle = setup(t, postgres.Config{DSN: u.String()})
	// Before the roles of the test, which own things there.
	t.Cleanup(func() { adminExec(t, `DROP DATABASE `+b.name+` WITH (FORCE)`) })
	require.NoError(t, b.admin.Close(t.Context()))
	b.admin, err = pgx.Connect(t.Context(), u.String())
	require.NoError(t, err)
	return b
}

// readOnly makes the database read-only, or ends that. The setting holds for new sessions: the present ones end, as
// they do when a database fails over.
func (b *ownDatabase) readOnly(t *testing.T, on bool) {
	t.Helper()
	if !on {
		adminExec(t, `ALTER DATABASE `+b.name+` RESET default_transaction_read_only`)
		return
	}
	adminExec(t, `ALTER DATABASE `+b.name+` SET default_transaction_read_only = on`)
	adminExec(
		t,
		`SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = $1
			AND application_name LIKE 'cruster%'`,
		b.name,
	)
}

// sessions are the processes of the server that work for the store.
func (b *ownDatabase) sessions(t *testing.T) []int32 {
	t.Helper()
	rows, err := b.admin.Query(
		t.Context(), `SELECT pid FROM pg_stat_activity WHERE datname = $1 AND application_name LIKE 'cruster%'`, b.name,
	)
	require.NoError(t, err)
	pids, err := pgx.CollectRows(rows, pgx.RowTo[int32])
	require.NoError(t, err)
	return pids
}

// A store that cannot commit says so, although it can read; and no session remembers it for longer than it is true.
func TestReadOnlyTimesEnd(t *testing.T) {
	t.Parallel()
	b := setupOwnDatabase(t)
	b.deploy(t, "default", accounts)
	require.NoError(t, b.store.Ping(t.Context()))
	b.readOnly(t, true)

	// The first calls may find out that their sessions were ended.
	require.Eventually(t, func() bool {
		_, err := b.store.Load(t.Context(), b.id)
		return err == nil
	}, patience, 10*time.Millisecond, "reading is possible")
	for range 5 {
		require.Error(t, b.store.Ping(t.Context()))
		_, err := b.store.Commit(t.Context(), []journal.Write{b.entry(1)})
		require.Error(t, err)
	}
	require.ErrorContains(t, b.store.Ping(t.Context()), "read-only")
	_, err := b.store.Commit(t.Context(), []journal.Write{b.entry(1)})
	require.ErrorIs(t, err, journal.ErrUnavailable)
	require.NotErrorIs(t, err, journal.ErrUndecided, "nothing can have taken effect")
	require.Error(t, withdraw(t, b))

	b.readOnly(t, false)
	require.NoError(t, b.store.Ping(t.Context()), "at once")
	require.Equal(t, journal.Result{}, b.commit(t, b.entry(1)))
	require.NoError(t, withdraw(t, b))
}

// withdraw is an activity with SQL.
func withdraw(t *testing.T, b *ownDatabase) error {
	tx, err := b.store.BeginGuest(t.Context(), "default")
	if err != nil {
		return err
	}
	defer func() { require.NoError(t, tx.Rollback(t.Context())) }()
	if _, err = tx.Exec(t.Context(), "UPDATE accounts SET balance = balance - 10 WHERE id = $1", []any{
		int64(1),
	}); err != nil {
		return err
	}
	return tx.Commit(t.Context(), b.entry(2))
}

// A session of the store that turns out read-only is dropped, with all others: they were made in the same time. It is
// the store that failed then, not the activity.
func TestSessionsThatCannotWriteAreDropped(t *testing.T) {
	t.Parallel()
	b := setupOwnDatabase(t)
	b.deploy(t, "default", accounts)
	require.Zero(t, b.entries(t))
	_, err := b.admin.Exec(t.Context(), replaceSchema(`
		CREATE FUNCTION SCHEMA.refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'read-only'
			USING ERRCODE = '25006'; END $$;
		CREATE TRIGGER refuse BEFORE INSERT ON SCHEMA.entries EXECUTE FUNCTION SCHEMA.refuse();
		CREATE TRIGGER refuse BEFORE UPDATE ON SCHEMA__default.accounts EXECUTE FUNCTION SCHEMA.refuse();
		GRANT USAGE ON schema SCHEMA TO SCHEMA__default`, b.schema))
	require.NoError(t, err)
	before := b.sessions(t)
	require.NotEmpty(t, before)

	err = withdraw(t, b)
	require.Equal(t, abi.CodeStore, abi.CodeOf(err), "%v", err)
	_, err = b.store.Commit(t.Context(), []journal.Write{b.entry(1)})
	require.ErrorContains(t, err, "25006")
	require.NotErrorIs(t, err, journal.ErrUndecided)
	require.Eventually(t, func() bool {
		for _, pid := range b.sessions(t) {
			if slices.Contains(before, pid) {
				return false
			}
		}
		return true
	}, patience, 10*time.Millisecond)
	require.NoError(t, b.store.Ping(t.Context()))
}
