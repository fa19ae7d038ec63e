package crustertest_test

import (
	"database/sql"
	"testing"

	cruster "github.com/cruster/cruster/guest-sdk/go"
	"github.com/cruster/cruster/guest-sdk/go/crustertest"
	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite"
)

var _ = cruster.Migrations(
	cruster.Migration{Version: 1, Name: "charges", SQL: `CREATE TABLE charges (order_id TEXT PRIMARY KEY, cents BIGINT NOT NULL)`},
	cruster.Migration{Version: 2, Name: "never", Dialect: cruster.Postgres, SQL: `this is not for SQLite`},
)

func TestSQLite(t *testing.T) {
	t.Parallel()
	db, err := sql.Open("sqlite", ":memory:")
	require.NoError(t, err)
	defer db.Close()
	opts := []crustertest.Option{crustertest.SQLite(db), crustertest.ResolveAfter(0, shipped, "p")}
	_, err = crustertest.Run(t, processOrder, order{ID: "42", Cents: 300}, opts...)
	require.NoError(t, err)

	_, err = crustertest.Run(t, processOrder, order{ID: "42", Cents: 500}, opts...)
	require.ErrorContains(t, err, "constraint", "the order exists already")
	var cents int
	require.NoError(t, db.QueryRow(`SELECT SUM(cents) FROM charges`).Scan(&cents))
	require.Equal(t, 300, cents, "the failed attempt is rolled back")
}
