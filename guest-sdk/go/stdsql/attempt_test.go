package stdsql_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	cruster "github.com/cruster/cruster/guest-sdk/go"
	"github.com/cruster/cruster/guest-sdk/go/stdsql"
)

// TestNotCommitted: an uncommitted transaction is not stored, as everywhere else.
func TestNotCommitted(t *testing.T) {
	t.Parallel()
	told, err := inActivity(t, func(ctx *cruster.ActivityContext) error {
		tx, err := stdsql.Open(ctx).BeginTx(ctx, nil)
		require.NoError(t, err)
		_, err = tx.ExecContext(ctx, "INSERT a")
		return err
	})
	require.NoError(t, err)
	require.NotContains(t, told, "commit")
}

// TestBesideTx: a Rollback undoes its own part and nothing else.
func TestBesideTx(t *testing.T) {
	t.Parallel()
	_, err := inActivity(t, func(ctx *cruster.ActivityContext) error {
		_, err := ctx.Tx().Exec("INSERT audit")
		require.NoError(t, err)
		_, err = stdsql.Open(ctx).BeginTx(ctx, nil)
		require.ErrorContains(t, err, "would be undone")
		return nil
	})
	require.NoError(t, err)
}

// TestCommentsAreNoChange: code of sqlc begins every statement with a comment.
func TestCommentsAreNoChange(t *testing.T) {
	t.Parallel()
	_, err := inActivity(t, func(ctx *cruster.ActivityContext) error {
		db := stdsql.Open(ctx)
		_, err := db.ExecContext(ctx, "-- name: CountOrders :one\nSELECT count(*) FROM orders")
		require.NoError(t, err)
		tx, err := db.BeginTx(ctx, nil)
		require.NoError(t, err)
		return tx.Commit()
	})
	require.NoError(t, err)
}

// TestTimesAsText: a text that looks like a time that SQLite was given is that time.
func TestTimesAsText(t *testing.T) {
	t.Parallel()
	const stored = "2026-01-02T03:04:05.120000000Z"
	_, err := inActivityOf(t, &database{at: stored}, func(ctx *cruster.ActivityContext) error {
		var n, f, b, s, nothing any
		var at string
		require.NoError(t, stdsql.Open(ctx).QueryRowContext(ctx, "SELECT").Scan(&n, &f, &b, &s, &nothing, &at))
		require.Equal(t, "2026-01-02T03:04:05.12Z", at)
		return nil
	})
	require.NoError(t, err)
}

// TestClosedAndOpenedAgain: code that opens and closes does so more than once in an attempt.
func TestClosedAndOpenedAgain(t *testing.T) {
	t.Parallel()
	_, err := inActivity(t, func(ctx *cruster.ActivityContext) error {
		require.NoError(t, stdsql.Open(ctx).Close())
		return stdsql.Open(ctx).PingContext(ctx)
	})
	require.NoError(t, err)
}
