package sqltest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	cruster "github.com/cruster/cruster/guest-sdk/go"
	"github.com/cruster/cruster/guest-sdk/go/crustertest"
	"github.com/cruster/cruster/internal/sqltest"
)

// The test kit's SQLite is tested here, and not beside it: the SDK is a module of its own, which does not depend on a
// database.

type order struct {
	ID    string `json:"id"`
	Cents int64  `json:"cents"`
}

var _ = cruster.Migrations(
	cruster.Migration{
		Version: 1, Name: "charges", SQL: `CREATE TABLE charges (order_id TEXT PRIMARY KEY, cents BIGINT NOT NULL)`,
	},
	cruster.Migration{Version: 2, Name: "never", Dialect: cruster.Postgres, SQL: `this is not SQLite`},
)

var charge = cruster.NewActivity("charge", func(ctx *cruster.ActivityContext, o order) (string, error) {
	_, err := ctx.Tx().Exec(`INSERT INTO charges (order_id, cents) VALUES ($1, $2)`, o.ID, o.Cents)
	return "ch_" + o.ID, err
}, cruster.Retries(3))

var processOrder = cruster.NewWorkflow("processOrder", func(ctx cruster.Context, o order) (string, error) {
	return charge.Call(ctx, o)
})

func TestSQLite(t *testing.T) {
	t.Parallel()
	db := sqltest.Open(t)
	migrated := crustertest.SQLite(db)
	id, err := crustertest.Run(t, processOrder, order{ID: "42", Cents: 300}, migrated)
	require.NoError(t, err)
	require.Equal(t, "ch_42", id)

	_, err = crustertest.Run(t, processOrder, order{ID: "42", Cents: 500}, migrated)
	require.ErrorContains(t, err, "constraint", "what failed is rolled back")
	require.Equal(t, []string{"300"}, sqltest.List(t, db, `SELECT SUM(cents) FROM charges`))
}
