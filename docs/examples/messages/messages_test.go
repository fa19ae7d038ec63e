package messages

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	cruster "github.com/cruster/cruster/guest-sdk/go"
	"github.com/cruster/cruster/guest-sdk/go/crustertest"
)

func TestInvoice(t *testing.T) {
	t.Parallel()
	var left int64
	_, err := crustertest.Run(t, Invoice, 500,
		crustertest.Signal(Paid, Payment{Cents: 200}),
		crustertest.SignalAfter(48*time.Hour, Paid, Payment{Cents: 300}),
		crustertest.QueryAfter(24*time.Hour, Left, cruster.None{}, func(cents int64, err error) {
			require.NoError(t, err)
			left = cents
		}))
	require.NoError(t, err)
	require.Equal(t, int64(300), left)
}

func TestNoOnePays(t *testing.T) {
	t.Parallel()
	var h crustertest.History
	_, err := crustertest.Run(t, Patient, cruster.None{},
		crustertest.SignalAfter(31*24*time.Hour, Paid, Payment{Cents: 500}), crustertest.Record(&h))
	require.NoError(t, err)
	require.Equal(t, 30*24*time.Hour, h.Duration())
}

func TestPayer(t *testing.T) {
	t.Parallel()
	_, err := crustertest.Run(t, Payer, 500)
	require.NoError(t, err)
}

func TestAccounts(t *testing.T) {
	t.Parallel()
	bank := crustertest.NewEntities(t)
	_, err := crustertest.Call(bank, Deposit, "ada", 500)
	require.NoError(t, err)
	left, err := crustertest.Run(
		t, Transfers, Transfer{From: "ada", To: "bob", Cents: 200}, crustertest.UseEntities(bank),
	)
	require.NoError(t, err)
	require.Equal(t, int64(300), left)
	_, err = crustertest.Call(bank, Give, "ada", Gift{To: "bob", Cents: 100})
	require.NoError(t, err)
	bob, _ := crustertest.State(bank, Accounts, "bob")
	require.Equal(t, int64(300), bob.Cents)

	_, err = crustertest.Call(bank, Give, "ada", Gift{To: "bob", Cents: 900})
	require.Equal(t, "too_poor", cruster.ErrorType(err))
	_, err = crustertest.Call(bank, Close, "ada", cruster.None{})
	require.NoError(t, err)
	require.Equal(t, []string{"test/Account/bob"}, bank.Names())

	crustertest.SetState(bank, Accounts, "eve", 0, accountInEuros{Euros: 5})
	cents, err := crustertest.Call(bank, Balance, "eve", cruster.None{})
	require.NoError(t, err)
	require.Equal(t, int64(500), cents)
}
