// Package sqltest is the database that the tests of the examples run their SQL on: a real SQLite, in memory.
package sqltest

import (
	"database/sql"
	"testing"

	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite" // the driver
)

// Open opens an empty database and closes it when the test ends.
func Open(t *testing.T) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", ":memory:")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}

// List returns the first column of a query, as text.
func List(t *testing.T, db *sql.DB, query string, args ...any) []string {
	t.Helper()
	rows, err := db.Query(query, args...)
	require.NoError(t, err)
	defer rows.Close()
	found := []string{}
	for rows.Next() {
		var s string
		require.NoError(t, rows.Scan(&s))
		found = append(found, s)
	}
	require.NoError(t, rows.Err())
	return found
}
