package postgres_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/journal/postgres"
)

// TestReadsOutliveTheirConnection: a connection that is lost before it is used costs no read.
func TestReadsOutliveTheirConnection(t *testing.T) {
	t.Parallel()
	b := setup(t, postgres.Config{MaxConns: 1})
	for range 3 {
		_, err := b.store.Deployments(t.Context(), "default")
		require.NoError(t, err)
		var ended int
		require.NoError(
			t,
			b.admin.QueryRow(t.Context(), `SELECT count(pg_terminate_backend(pid, 5000)) FROM pg_stat_activity
			WHERE application_name = 'cruster' AND query LIKE '%' || $1 || '%'`, b.schema).Scan(&ended),
		)
		require.Positive(t, ended)
		_, err = b.store.Deployments(t.Context(), "default")
		require.NoError(t, err)
	}
}
