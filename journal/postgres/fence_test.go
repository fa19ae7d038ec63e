package postgres_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/journal/postgres"
)

// A claim does not wait for migrations. Their changes are undone.
func TestClaimDuringADeploymentFencesIt(t *testing.T) {
	t.Parallel()
	b := setup(t, postgres.Config{})
	first := abi.Migration{Version: 1, Name: "tables", SQL: "CREATE TABLE t (a BIGINT)"}
	d := journal.Deployment{Namespace: "default", Name: "bank", Digest: "sha256:02"}
	_, err := b.push(t.Context(), d, []abi.Migration{first})
	require.NoError(t, err)
	lock, err := b.admin.Begin(t.Context())
	require.NoError(t, err)
	_, err = lock.Exec(t.Context(), replaceSchema("LOCK SCHEMA__default.t IN ACCESS EXCLUSIVE MODE", b.schema))
	require.NoError(t, err)
	deployed := make(chan error, 1)
	go func() {
		_, err := b.push(t.Context(), d, []abi.Migration{
			first, {Version: 2, Name: "more", SQL: "CREATE TABLE late (a BIGINT); ALTER TABLE t ADD COLUMN b BIGINT"},
		})
		deployed <- err
	}()
	b.waitForLocks(t, "__default.t", 1)

	heir := open(t, postgres.Config{Schema: b.schema})
	_, err = heir.ClaimShards(t.Context(), "heir")
	require.NoError(t, err, "while the migration waits")
	require.NoError(t, lock.Rollback(t.Context()))
	require.ErrorIs(t, <-deployed, journal.ErrFenced)
	var late bool
	require.NoError(
		t, b.admin.QueryRow(t.Context(), `SELECT to_regclass($1) IS NOT NULL`, b.schema+"__default.late").Scan(&late),
	)
	require.False(t, late)
	got, err := heir.Deployment(t.Context(), "default", "bank")
	require.NoError(t, err)
	require.EqualValues(t, 1, got.Version)
}

// The answer to a push was lost: a later read sees its outcome.
func TestLostAnswerOfADeploymentIsUndecided(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		cut     int32
		version int64
	}{"the push took effect": {loseAnswer, 2}, "the push was lost": {loseRequest, 1}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProxy(t)
			b := setup(t, postgres.Config{DSN: p.dsn})
			b.deploy(t, "default", accounts)
			d := journal.Deployment{Namespace: "default", Name: "bank", Digest: "sha256:02"}
			p.cut.Store(c.cut)
			_, err := b.push(t.Context(), d, nil)
			require.ErrorIs(t, err, journal.ErrUndecided)
			got, err := b.store.Deployment(t.Context(), "default", "bank")
			require.NoError(t, err)
			require.Equal(t, c.version, got.Version)
		})
	}
}
