package twomodules

import (
	"database/sql"
	"database/sql/driver"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/guest-sdk/go/crustertest"
	"github.com/cruster/cruster/guest-sdk/go/crustertest/internal/billing"
)

// noting is a database that notes the statements that it is to execute.
type noting struct{ statements []string }

func (n *noting) Open(string) (driver.Conn, error) { return n, nil }
func (n *noting) Begin() (driver.Tx, error)        { return nil, errors.ErrUnsupported }
func (n *noting) Close() error                     { return nil }

func (n *noting) Prepare(string) (driver.Stmt, error) { return nil, errors.ErrUnsupported }

func (n *noting) Exec(query string, _ []driver.Value) (driver.Result, error) {
	n.statements = append(n.statements, query)
	return driver.RowsAffected(0), nil
}

// The migrations of each module are applied, once, regardless of their numbers.
func TestMigrationsOfTwoModules(t *testing.T) {
	t.Parallel()
	database := &noting{}
	sql.Register("noting", database)
	db, err := sql.Open("noting", "")
	require.NoError(t, err)
	defer db.Close()
	opts := append(bothModules, crustertest.SQLite(db))
	for range 2 {
		_, err = crustertest.Run(t, billing.Note, "me", opts...)
		require.NoError(t, err)
	}
	require.Equal(
		t,
		[]string{
			"PRAGMA foreign_keys = ON", "CREATE TABLE billing_invoices (id TEXT)", "CREATE TABLE shop_orders (id TEXT)",
		},
		database.statements,
	)
}
