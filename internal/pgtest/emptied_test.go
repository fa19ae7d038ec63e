package pgtest

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// The next test has the tables of the one before, without its rows and its guests.
func TestEmptied(t *testing.T) {
	t.Parallel()
	conn, err := pgx.Connect(t.Context(), DSN(t))
	require.NoError(t, err)
	defer conn.Close(t.Context())
	var first, second string
	t.Run("a test", func(t *testing.T) {
		first = Emptied(t)
		for _, stmt := range []string{
			`CREATE SCHEMA ` + first,
			`CREATE TABLE ` + first + `.a (n int)`,
			`INSERT INTO ` + first + `.a VALUES (1)`,
			`CREATE ROLE ` + first + `__tenant`,
			`CREATE SCHEMA ` + first + `__tenant AUTHORIZATION ` + first + `__tenant`,
		} {
			_, err := conn.Exec(t.Context(), stmt)
			require.NoError(t, err)
		}
	})
	t.Run("the next one", func(t *testing.T) {
		second = Emptied(t)
		var rows, left int
		require.NoError(t, conn.QueryRow(t.Context(), `SELECT (SELECT count(*) FROM `+second+`.a),
			(SELECT count(*) FROM pg_namespace WHERE starts_with(nspname::text, $1))
			+ (SELECT count(*) FROM pg_roles WHERE starts_with(rolname::text, $1))`, second+"__").Scan(&rows, &left))
		require.Zero(t, rows)
		require.Zero(t, left)
	})
	require.Equal(t, first, second)
}
