package postgres_test

import (
	"context"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/journal/postgres"
)

// Reads and activities that use up all their connections do not keep the journal from committing.
func TestCommitsHaveConnectionsOfTheirOwn(t *testing.T) {
	t.Parallel()
	b := setup(t, postgres.Config{MaxConns: 1, MaxGuestConns: 1})
	b.deploy(t, "default", accounts)
	b.begin(t, "default")
	lock, err := b.admin.Begin(t.Context())
	require.NoError(t, err)
	_, err = lock.Exec(t.Context(), replaceSchema("LOCK SCHEMA.modules IN ACCESS EXCLUSIVE MODE", b.schema))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	read := make(chan error, 1)
	go func() {
		_, err := b.store.Module(ctx, "sha256:01")
		read <- err
	}()
	b.waitForLocks(t, ".modules", 1)

	require.Equal(t, journal.Result{}, b.commit(t, b.entry(1)))
	require.NoError(t, b.store.Ping(t.Context()))
	cancel()
	require.ErrorIs(t, <-read, context.Canceled)
	require.NoError(t, lock.Rollback(t.Context()))
	require.Equal(t, 1, b.entries(t))
}

// A caller that gives up is told from a server that does not answer, and costs one connection, not the connections of
// others.
func TestACallerThatGivesUpCostsOneConnection(t *testing.T) {
	t.Parallel()
	b := setupOwnDatabase(t)
	read := func(ctx context.Context) chan error {
		done := make(chan error, 1)
		go func() {
			_, err := b.store.Module(ctx, "sha256:01")
			done <- err
		}()
		return done
	}
	lock := func() pgx.Tx {
		tx, err := b.admin.Begin(t.Context())
		require.NoError(t, err)
		_, err = tx.Exec(t.Context(), replaceSchema("LOCK SCHEMA.modules IN ACCESS EXCLUSIVE MODE", b.schema))
		require.NoError(t, err)
		return tx
	}
	tx := lock()
	first, second := read(t.Context()), read(t.Context())
	b.waitForLocks(t, ".modules", 2)
	require.NoError(t, tx.Rollback(t.Context()))
	require.ErrorIs(t, <-first, journal.ErrNotFound)
	require.ErrorIs(t, <-second, journal.ErrNotFound)
	before := b.sessions(t)

	tx = lock()
	ctx, cancel := context.WithCancel(t.Context())
	third := read(ctx)
	b.waitForLocks(t, ".modules", 1)
	cancel()
	require.ErrorIs(t, <-third, context.Canceled)
	require.NoError(t, tx.Rollback(t.Context()))
	require.ErrorIs(t, <-read(t.Context()), journal.ErrNotFound)
	after := b.sessions(t)
	kept := slices.DeleteFunc(before, func(pid int32) bool { return !slices.Contains(after, pid) })
	require.GreaterOrEqual(t, len(kept), len(before)-1)
}
