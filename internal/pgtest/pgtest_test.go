package pgtest

import (
	"os"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

func TestMain(m *testing.M) { os.Exit(Main(m)) }

// TestServerHasTheSettingsOfProduction, but for fsync: see the comment of the package.
func TestServerHasTheSettingsOfProduction(t *testing.T) {
	t.Parallel()
	conn, err := pgx.Connect(t.Context(), DSN(t))
	require.NoError(t, err)
	defer conn.Close(t.Context())
	var fullPages, synchronous string
	require.NoError(
		t,
		conn.QueryRow(
			t.Context(), `SELECT current_setting('full_page_writes'), current_setting('synchronous_commit')`,
		).Scan(&fullPages, &synchronous),
	)
	require.Equal(t, "on", fullPages)
	require.Equal(t, "on", synchronous)
}

func TestSchemaIsDroppedWithItsGuests(t *testing.T) {
	t.Parallel()
	conn, err := pgx.Connect(t.Context(), DSN(t))
	require.NoError(t, err)
	defer conn.Close(t.Context())
	var schema string
	t.Run("a test that creates schemas and roles", func(t *testing.T) {
		schema = Schema(t)
		for _, stmt := range []string{
			`CREATE SCHEMA ` + schema,
			`CREATE ROLE ` + schema + `__tenant`,
			`CREATE SCHEMA ` + schema + `__tenant AUTHORIZATION ` + schema + `__tenant`,
			`CREATE TABLE ` + schema + `__tenant.t (n int)`,
		} {
			_, err := conn.Exec(t.Context(), stmt)
			require.NoError(t, err)
		}
	})
	var left int
	require.NoError(
		t,
		conn.QueryRow(t.Context(), `SELECT (SELECT count(*) FROM pg_namespace WHERE starts_with(nspname::text, $1))
		+ (SELECT count(*) FROM pg_roles WHERE starts_with(rolname::text, $1))`, schema).Scan(&left),
	)
	require.Zero(t, left)
}

func TestDatabaseIsDropped(t *testing.T) {
	t.Parallel()
	var name string
	t.Run("a test with a database of its own", func(t *testing.T) {
		conn, err := pgx.Connect(t.Context(), Database(t))
		require.NoError(t, err)
		defer conn.Close(t.Context())
		require.NoError(t, conn.QueryRow(t.Context(), `SELECT current_database()`).Scan(&name))
		require.NotEqual(t, "postgres", name)
	})
	conn, err := pgx.Connect(t.Context(), DSN(t))
	require.NoError(t, err)
	defer conn.Close(t.Context())
	var left int
	require.NoError(
		t, conn.QueryRow(t.Context(), `SELECT count(*) FROM pg_database WHERE datname = $1`, name).Scan(&left),
	)
	require.Zero(t, left)
}
