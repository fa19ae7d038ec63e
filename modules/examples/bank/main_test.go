package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	cruster "github.com/cruster/cruster/guest-sdk/go"
	"github.com/cruster/cruster/guest-sdk/go/crustertest"
)

func TestTransfer(t *testing.T) {
	t.Parallel()
	bank := crustertest.NewEntities(t)
	_, err := crustertest.Call(bank, Deposit, "ada", int64(100))
	require.NoError(t, err)
	run := func(id, from, to string, cents int64) (Receipt, error) {
		return crustertest.Run(
			t, Transfer, TransferRequest{ID: id, From: from, To: to, Cents: cents}, crustertest.UseEntities(bank),
		)
	}
	receipt, err := run("1", "ada", "bob", 70)
	require.NoError(t, err)
	require.Equal(t, Receipt{Moved: true, From: 30, To: 70}, receipt)
	receipt, err = run("2", "ada", "bob", 70)
	require.NoError(t, err)
	require.Equal(t, Receipt{From: 30, To: 70}, receipt, "there is not enough")
	_, err = run("3", "ada", "ada", 1)
	require.Equal(t, "invalid_transfer", cruster.ErrorType(err))

	balance, err := crustertest.Call(bank, Balance, "ada", cruster.None{})
	require.NoError(t, err, "nothing is locked when the transfers are over")
	require.Equal(t, int64(30), balance)
	_, err = crustertest.Call(bank, Deposit, "ada", int64(-31))
	require.Equal(t, "insufficient_funds", cruster.ErrorType(err))
}
