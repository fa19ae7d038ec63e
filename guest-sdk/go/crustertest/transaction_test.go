package crustertest_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	cruster "github.com/cruster/cruster/guest-sdk/go"
	"github.com/cruster/cruster/guest-sdk/go/crustertest"
)

// ledgerDB records the outcomes of transactions.
type ledgerDB struct{ did []string }

func (d *ledgerDB) note(what string) error {
	d.did = append(d.did, what)
	return nil
}

func (d *ledgerDB) Begin() (crustertest.Transaction, error)   { return d, d.note("begin") }
func (d *ledgerDB) Exec(query string, _ []any) (int64, error) { return 1, d.note(query) }
func (d *ledgerDB) Commit() error                             { return d.note("commit") }
func (d *ledgerDB) Rollback() error                           { return d.note("rollback") }
func (d *ledgerDB) Query(query string, _ []any) ([]string, [][]any, error) {
	return []string{"n"}, [][]any{{1}}, d.note(query)
}

// lingers holds its transaction for a while in its first attempt.
var lingers = cruster.NewActivity("txLingers", func(ctx *cruster.ActivityContext, how string) (int, error) {
	tx := ctx.Tx()
	if _, err := tx.Exec("INSERT 1"); err != nil {
		return 0, err
	}
	if ctx.Attempt() == 1 {
		time.Sleep(3 * time.Second)
	}
	switch how {
	case "ends":
		return ctx.Attempt(), nil
	case "rolls back":
		if err := tx.Rollback(); err != nil {
			return 0, err
		}
	case "goes on":
		if ctx.Attempt() == 1 {
			_, first := tx.Exec("INSERT 2")
			_, second := cruster.Query[int](tx, "SELECT")
			if first == nil || second == nil || first.Error() != second.Error() {
				return 0, cruster.NonRetryable(errors.New("the transaction is not over"))
			}
			return 1, nil // all the same
		}
	}
	return cruster.QueryRow[int](tx, "SELECT")
}, cruster.Retries(1))

var lingering = cruster.NewWorkflow("txLingering", func(ctx cruster.Context, how string) (int, error) {
	return lingers.Call(ctx, how)
})

// A transaction that is open for too long is rolled back, and the attempt fails, as on a host.
func TestTransactionLimit(t *testing.T) {
	t.Parallel()
	tooLong := []string{"begin", "INSERT 1", "rollback"}
	fine := []string{"begin", "INSERT 1", "SELECT", "commit"}
	const why = "CR-3103: the transaction was open for longer than 2s"
	for how, c := range map[string]struct {
		opts []crustertest.Option
		did  []string
		fail string
	}{
		"reads":      {nil, append(tooLong[:3:3], fine...), why},
		"ends":       {nil, append(tooLong[:3:3], "begin", "INSERT 1", "commit"), why},
		"goes on":    {nil, append(tooLong[:3:3], fine...), why},
		"rolls back": {nil, append(tooLong[:3:3], "begin", "SELECT", "commit"), ""},
		"waits":      {[]crustertest.Option{crustertest.TransactionLimit(5 * time.Second)}, fine, ""},
		"no limit":   {[]crustertest.Option{crustertest.TransactionLimit(0)}, fine, ""},
		"below zero": {[]crustertest.Option{crustertest.TransactionLimit(-time.Second)}, fine, ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			db := &ledgerDB{}
			var h crustertest.History
			_, err := crustertest.Run(
				t, lingering, how, append(c.opts, crustertest.UseDatabase(db), crustertest.Record(&h))...,
			)
			require.NoError(t, err, how)
			require.Equal(t, c.did, db.did, how)
			failed := ""
			for _, e := range h.Events {
				if e.Type == crustertest.Retried {
					failed = e.Err.Error()
				}
			}
			require.Equal(t, c.fail, failed, how)
		})
	}
}
