package main

import cruster "github.com/cruster/cruster/guest-sdk/go"

// Account is the state of an account.
type Account struct {
	Cents int64 `json:"cents"`
}

// Accounts are the accounts; the id of one is its owner.
var Accounts = cruster.NewStatefulEntity[Account]("Account")

// Deposit adds to an account, or takes from it, and returns the balance then.
var Deposit = cruster.NewOperation(
	Accounts,
	"deposit",
	func(_ *cruster.EntityContext, a *Account, cents int64) (int64, error) {
		if a.Cents+cents < 0 {
			return 0, cruster.Errorf("insufficient_funds", "the account holds %d", a.Cents)
		}
		a.Cents += cents
		return a.Cents, nil
	},
)

// Balance is the balance of an account. It writes nothing.
var Balance = cruster.NewReadOnly(
	Accounts,
	"balance",
	func(_ *cruster.ReadContext, a Account, _ cruster.None) (int64, error) {
		return a.Cents, nil
	},
)
