package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	cruster "github.com/cruster/cruster/guest-sdk/go"
	"github.com/cruster/cruster/guest-sdk/go/crustertest"
	"github.com/cruster/cruster/internal/sqltest"
)

func TestTransfer(t *testing.T) {
	t.Parallel()
	db := sqltest.Open(t)
	bank := crustertest.SQLite(db)
	for account, cents := range map[string]int64{"ada": 1000, "bob": 50} {
		opened, err := crustertest.Run(t, OpenAccount, AccountRequest{Account: account, BalanceCents: cents}, bank)
		require.NoError(t, err)
		require.Equal(t, Account{Account: account, BalanceCents: cents}, opened)
	}

	var h crustertest.History
	res, err := crustertest.Run(
		t, Transfer, TransferRequest{TransferID: "t1", From: "ada", To: "bob", AmountCents: 300}, bank,
		crustertest.Record(&h),
	)
	require.NoError(t, err)
	require.Equal(t, TransferResult{TransferID: "t1", FromBalanceCents: 700, ToBalanceCents: 350}, res)
	crustertest.Replay(t, &h)

	res, err = crustertest.Run(
		t, Transfer, TransferRequest{TransferID: "t2", From: "bob", To: "ada", AmountCents: 350}, bank,
	)
	require.NoError(t, err)
	require.Equal(t, TransferResult{TransferID: "t2", FromBalanceCents: 0, ToBalanceCents: 1050}, res)

	_, err = crustertest.Run(
		t, Transfer, TransferRequest{TransferID: "t3", From: "bob", To: "ada", AmountCents: 1}, bank,
		crustertest.Record(&h),
	)
	require.Equal(t, "insufficient_funds", cruster.ErrorType(err))
	details, ok := cruster.Details[map[string]int64](err)
	require.True(t, ok)
	require.Equal(t, int64(1), details["missing_cents"])
	require.Zero(t, h.Duration(), "it is not retried")

	_, err = crustertest.Run(
		t, Transfer, TransferRequest{TransferID: "t4", From: "ada", To: "eve", AmountCents: 1}, bank,
	)
	require.Equal(t, "unknown_account", cruster.ErrorType(err))

	require.Equal(
		t, []string{"1050", "0"}, sqltest.List(t, db, `SELECT balance_cents FROM accounts ORDER BY account`),
		"failed transfers moved nothing",
	)
	require.Equal(t, []string{"t1", "t2"}, sqltest.List(t, db, `SELECT transfer_id FROM ledger`))
}

func TestBadTransfers(t *testing.T) {
	t.Parallel()
	for _, req := range []TransferRequest{
		{TransferID: "t", From: "a", To: "b"},
		{TransferID: "t", From: "a", To: "b", AmountCents: -5},
		{TransferID: "t", From: "a", To: "a", AmountCents: 5},
	} {
		_, err := crustertest.Run(t, Transfer, req)
		require.Equal(t, "invalid_transfer", cruster.ErrorType(err))
	}
	_, err := crustertest.Run(t, OpenAccount, AccountRequest{Account: "a", BalanceCents: -1})
	require.Equal(t, "invalid_account", cruster.ErrorType(err))
}

// The kit checks foreign keys, as a host does.
func TestForeignKeys(t *testing.T) {
	t.Parallel()
	db := sqltest.Open(t)
	_, err := crustertest.Run(t, OpenAccount, AccountRequest{Account: "ada"}, crustertest.SQLite(db))
	require.NoError(t, err)
	_, err = db.Exec("CREATE TABLE cards (account TEXT REFERENCES accounts (account)); INSERT INTO cards VALUES " +
		"('ada'); INSERT INTO cards VALUES ('eve')")
	require.ErrorContains(t, err, "FOREIGN KEY")
}
