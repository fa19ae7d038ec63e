package postgres_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/journal/postgres"
)

// Reads and activities that use up all their connections do not keep the journal
// from committing.
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
	b.waitForLock(t, ".modules")

	require.Equal(t, journal.Result{}, b.commit(t, b.entry(1)))
	require.NoError(t, b.store.Ping(t.Context()))
	cancel()
	require.ErrorIs(t, <-read, context.Canceled)
	require.NoError(t, lock.Rollback(t.Context()))
	require.Equal(t, 1, b.entries(t))
}

// A caller that gave up is told from a server that did not answer.
func TestACallerThatGivesUpIsNoSilence(t *testing.T) {
	t.Parallel()
	b := setup(t, postgres.Config{})
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("enough"))
	_, err := b.store.Load(ctx, b.id)
	require.ErrorIs(t, err, context.Canceled)
}
