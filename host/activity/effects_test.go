package activity

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/effects"
	"github.com/cruster/cruster/host/wasm/binary/wasmtest"
	"github.com/cruster/cruster/journal"
)

func effectsOf(t *testing.T) (*bundle, *effects.Effects) {
	b := setup(t, wasmtest.Program{Outcome: done})
	return b, newAttempt(b.Runner, b.task).effects()
}

func TestSQL(t *testing.T) {
	t.Parallel()
	b, fx := effectsOf(t)
	reply, err := fx.Call(t.Context(), abi.ImportTxExec, abi.MustMarshal(&abi.SQL{Query: "DELETE FROM t"}))
	require.Nil(t, err)
	var exec abi.ExecReply
	require.NoError(t, abi.Unmarshal(reply, &exec))
	require.EqualValues(t, 1, exec.RowsAffected)
	reply, err = fx.Call(t.Context(), abi.ImportTxQuery, abi.MustMarshal(&abi.SQL{Query: "SELECT n"}))
	require.Nil(t, err)
	var rows abi.QueryReply
	require.NoError(t, abi.Unmarshal(reply, &rows))
	require.Equal(t, []string{"n"}, rows.Columns)
	require.Equal(t, []string{"DELETE FROM t", "SELECT n"}, b.tx.queries, "one transaction for both")

	fx.Rollback()
	fx.Rollback()
	require.Equal(t, 1, b.tx.rolledBack)
}

// TestRollbackByTheCode: the code goes on as if there had been no transaction.
func TestRollbackByTheCode(t *testing.T) {
	t.Parallel()
	b, fx := effectsOf(t)
	rollback := func() {
		reply, err := fx.Call(t.Context(), abi.ImportTxRollback, abi.MustMarshal(&abi.TxRollback{}))
		require.Nil(t, err)
		require.Equal(t, abi.Nil, reply)
	}
	rollback()
	require.Zero(t, b.tx.rolledBack, "there is nothing to undo")
	call := func(name string, body any) *abi.Error {
		_, err := fx.Call(t.Context(), name, abi.MustMarshal(body))
		return err
	}
	require.Nil(t, call(abi.ImportTxExec, &abi.SQL{Query: "DELETE FROM t"}))
	require.Equal(t, abi.CodeHTTPInTx, call(abi.ImportHTTP, &abi.HTTPRequest{URL: "https://example.com"}).Code)
	require.Equal(t, abi.CodeHTTPInTx, call(abi.ImportHTTPAll, &abi.HTTPAll{}).Code)
	rollback()
	require.Equal(t, 1, b.tx.rolledBack)
	require.False(t, fx.HasTx(), "nothing is committed with the result")
	require.Nil(t, call(abi.ImportHTTP, &abi.HTTPRequest{URL: "https://example.com"}))
	require.Nil(t, call(abi.ImportTxExec, &abi.SQL{Query: "DELETE FROM t"}))
	require.True(t, fx.HasTx())
	require.Equal(t, abi.CodeBadBody, call(abi.ImportTxRollback, []int{1}).Code)
}

// TestSQLFailures tells mistakes of the guest from failures of the store.
func TestSQLFailures(t *testing.T) {
	t.Parallel()
	statement := abi.MustMarshal(&abi.SQL{Query: "SELECT n"})
	for name, c := range map[string]struct {
		err   error
		code  abi.Code
		infra bool
	}{
		"a bad statement": {abi.Errorf(abi.CodeSQL, "no such table"), abi.CodeSQL, false},
		"a conflict":      {journal.ErrConflict, abi.CodeTxConflict, true},
		"the store":       {errors.New("no connection"), abi.CodeTxConflict, true},
		"a coded failure": {abi.Errorf(abi.CodeStore, "no connection"), abi.CodeStore, true},
	} {
		b, fx := effectsOf(t)
		b.tx.err = c.err
		_, err := fx.Call(t.Context(), abi.ImportTxQuery, statement)
		require.Equal(t, c.code, err.Code, name)
		require.Equal(t, c.infra, fx.Infra != nil, name)
		if c.infra {
			_, err := fx.Call(t.Context(), abi.ImportTxQuery, statement)
			require.Equal(t, abi.CodeTxConflict, err.Code, "%s: the transaction is over", name)
		}
	}
	b, fx := effectsOf(t)
	b.tx.err = errors.New("canceled")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := fx.Call(ctx, abi.ImportTxQuery, statement)
	require.Equal(t, abi.CodeActivityTimeout, err.Code)
	require.NoError(t, fx.Infra, "the attempt's time was over, the store is not to blame")
}

func TestHTTPAndConfig(t *testing.T) {
	t.Parallel()
	_, fx := effectsOf(t)
	reply, err := fx.Call(
		t.Context(), abi.ImportHTTP, abi.MustMarshal(&abi.HTTPRequest{Method: "GET", URL: "https://example.com"}),
	)
	require.Nil(t, err)
	var res abi.HTTPResponse
	require.NoError(t, abi.Unmarshal(reply, &res))
	require.Equal(t, 204, res.Status)

	config := func(name string) (found abi.ConfigReply) {
		reply, err := fx.Call(t.Context(), abi.ImportConfig, abi.MustMarshal(&abi.ConfigRequest{Name: name}))
		require.Nil(t, err)
		require.NoError(t, abi.Unmarshal(reply, &found))
		return found
	}
	require.Equal(t, abi.ConfigReply{Found: true, Value: "7"}, config("rate"))
	require.False(t, config("other").Found)

	_, err = fx.Call(t.Context(), abi.ImportTxExec, abi.MustMarshal(&abi.SQL{Query: "DELETE FROM t"}))
	require.Nil(t, err)
	_, err = fx.Call(
		t.Context(), abi.ImportHTTP, abi.MustMarshal(&abi.HTTPRequest{Method: "GET", URL: "https://example.com"}),
	)
	require.Equal(t, abi.CodeHTTPInTx, err.Code)
}

func TestBadBodies(t *testing.T) {
	t.Parallel()
	_, fx := effectsOf(t)
	for _, name := range []string{abi.ImportTxExec, abi.ImportTxQuery, abi.ImportHTTP, abi.ImportConfig} {
		_, err := fx.Call(t.Context(), name, []byte{0xc1})
		require.Equal(t, abi.CodeBadBody, err.Code, name)
	}
	_, err := fx.Call(t.Context(), "teleport", nil)
	require.Equal(t, abi.CodeWrongContext, err.Code)
	_, err = refuseOp(abi.OpSleep, nil)
	require.Equal(t, abi.CodeWrongContext, err.Code)
}
