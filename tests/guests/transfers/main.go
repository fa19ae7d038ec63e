// Command transfers moves money between accounts under locks, in a way that loses some as soon as
// two come in between each other: it reads a balance, and writes the new one.
package main

import (
	cruster "github.com/cruster/cruster/guest-sdk/go"
)

// Account is the state of an account.
type Account struct {
	Cents int64 `json:"cents"`
}

// Accounts are entities with a state.
var Accounts = cruster.NewStatefulEntity[Account]("Account")

// Put writes the balance of an account, whatever it had.
var Put = cruster.NewOperation(Accounts, "put", func(_ *cruster.EntityContext, a *Account, cents int64) (int64, error) {
	a.Cents = cents
	return cents, nil
})

// Balance reads an account.
var Balance = cruster.NewReadOnly(
	Accounts,
	"balance",
	func(_ *cruster.ReadContext, a Account, _ cruster.None) (int64, error) {
		return a.Cents, nil
	},
)

// Request asks for a transfer.
type Request struct {
	Cents int64  `json:"cents"`
	From  string `json:"from"`
	// Leave has the transfer end without ending its section.
	Leave bool   `json:"leave"`
	To    string `json:"to"`
}

// Transfer moves money if there is enough, and says whether there was.
var Transfer = cruster.NewWorkflow("Transfer", func(ctx cruster.Context, r Request) (bool, error) {
	section, err := cruster.Lock(ctx, Accounts.ID(r.From), Accounts.ID(r.To))
	if err != nil {
		return false, err
	}
	moved, err := transfer(ctx, r)
	if err != nil || r.Leave {
		return moved, err
	}
	return moved, section.Unlock(ctx)
})

func transfer(ctx cruster.Context, r Request) (bool, error) {
	from, err := Balance.On(r.From).Call(ctx, cruster.None{})
	if err != nil || from < r.Cents {
		return false, err
	}
	to, err := Balance.On(r.To).Call(ctx, cruster.None{})
	if err != nil {
		return false, err
	}
	if _, err := Put.On(r.From).Call(ctx, from-r.Cents); err != nil {
		return false, err
	}
	_, err = Put.On(r.To).Call(ctx, to+r.Cents)
	return err == nil, err
}

func main() {}
