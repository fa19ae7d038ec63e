package cruster_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	cruster "github.com/cruster/cruster/guest-sdk/go"
	"github.com/cruster/cruster/guest-sdk/go/crustertest"
)

// fakeDB answers every query with the same rows, and counts commits and rollbacks.
type fakeDB struct {
	columns             []string
	rows                [][]any
	statements          []string
	args                [][]any
	commits, rollbacks  int
	failBegin, failExec error
}

func (f *fakeDB) Begin() (crustertest.Transaction, error) { return f, f.failBegin }

func (f *fakeDB) Exec(query string, args []any) (int64, error) {
	f.statements, f.args = append(f.statements, query), append(f.args, args)
	return 3, f.failExec
}

func (f *fakeDB) Query(query string, args []any) ([]string, [][]any, error) {
	f.statements, f.args = append(f.statements, query), append(f.args, args)
	return f.columns, f.rows, nil
}

func (f *fakeDB) Commit() error { f.commits++; return nil }

func (f *fakeDB) Rollback() error { f.rollbacks++; return nil }

func TestExec(t *testing.T) {
	t.Parallel()
	db := &fakeDB{}
	got, err := inActivity(t, func(ctx *cruster.ActivityContext) (string, error) {
		n, err := ctx.Tx().Exec("UPDATE t SET a = $1", "x")
		return fmt.Sprint(n, " ", ctx.Attempt(), " ", ctx.ExecutionID(), " ", ctx.Err()), err
	}, crustertest.UseDatabase(db), crustertest.ExecutionID("d/w/k"))
	require.NoError(t, err)
	require.Equal(t, "3 1 d/w/k <nil>", got)

	db = &fakeDB{failExec: errors.New("unique constraint")}
	_, err = inActivity(t, func(ctx *cruster.ActivityContext) (string, error) {
		_, err := ctx.Tx().Exec("INSERT")
		require.Equal(t, string(abi.CodeSQL), cruster.ErrorCode(err))
		return "", err
	}, crustertest.UseDatabase(db))
	require.ErrorContains(t, err, "unique constraint")

	_, err = inActivity(t, func(ctx *cruster.ActivityContext) (string, error) {
		_, err := ctx.Tx().Exec("INSERT")
		return "", err
	})
	require.ErrorContains(t, err, "which the test does not provide")
}
