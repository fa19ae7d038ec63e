// Command entities has accounts with a state, a directory without a state that keeps its rows in SQL, and workflows
// that call them. Tests call it from outside.
package main

import (
	cruster "github.com/cruster/cruster/guest-sdk/go"
)

// Account is the state of an account.
type Account struct {
	Cents int64 `json:"cents"`
}

// Accounts are entities with a state.
var Accounts = cruster.NewStatefulEntity[Account]("Account", cruster.Concurrency(4))

// Deposit adds to an account; a sum below zero is refused.
var Deposit = cruster.NewOperation(
	Accounts,
	"deposit",
	func(_ *cruster.EntityContext, a *Account, cents int64) (int64, error) {
		if a.Cents+cents < 0 {
			return 0, cruster.Errorf("poor", "the account has %d cents", a.Cents)
		}
		a.Cents += cents
		return a.Cents, nil
	},
)

// Balance reads an account.
var Balance = cruster.NewReadOnly(
	Accounts,
	"balance",
	func(_ *cruster.ReadContext, a Account, _ cruster.None) (int64, error) {
		return a.Cents, nil
	},
)

// Give sends all of an account to another.
var Give = cruster.NewOperation(
	Accounts,
	"give",
	func(ctx *cruster.EntityContext, a *Account, to string) (int64, error) {
		given := a.Cents
		a.Cents = 0
		return given, Deposit.On(to).Send(ctx, given)
	},
)

// Report starts a workflow.
var Report = cruster.NewOperation(
	Accounts,
	"report",
	func(ctx *cruster.EntityContext, a *Account, _ cruster.None) (bool, error) {
		return true, Reporting.Client().WithKeyRaw(ctx.ID()).StartFrom(ctx, a.Cents)
	},
)

// Panic crashes.
var Panic = cruster.NewOperation(
	Accounts,
	"panic",
	func(_ *cruster.EntityContext, a *Account, _ cruster.None) (int64, error) {
		a.Cents = -1
		panic("on purpose")
	},
)

// Spin never ends.
var Spin = cruster.NewOperation(
	Accounts,
	"spin",
	func(_ *cruster.EntityContext, a *Account, _ cruster.None) (int64, error) {
		for {
			a.Cents++
		}
	},
)

// Close ends an account.
var Close = cruster.NewOperation(
	Accounts,
	"close",
	func(ctx *cruster.EntityContext, a *Account, _ cruster.None) (int64, error) {
		ctx.Destroy()
		return a.Cents, nil
	},
)

// Directory is an entity without a state: SQL has it.
var Directory = cruster.NewEntity("Directory", cruster.Concurrency(4))

// Rename writes a name, and counts how often it did.
var Rename = cruster.NewRPC(Directory, "rename", func(ctx *cruster.RPCContext, name string) (int64, error) {
	if name == "" {
		return 0, cruster.Errorf("empty", "a name is needed")
	}
	if _, err := ctx.Tx().Exec(`INSERT INTO names (id, name) VALUES ($1, $2)`, ctx.ID(), name); err != nil {
		return 0, err
	}
	return cruster.QueryRow[int64](ctx.Tx(), `SELECT count(*) FROM names WHERE id = $1`, ctx.ID())
}, cruster.Persisted())

// Count counts the names of an id.
var Count = cruster.NewRPC(Directory, "count", func(ctx *cruster.RPCContext, _ cruster.None) (int64, error) {
	return cruster.QueryRow[int64](ctx.Tx(), `SELECT count(*) FROM names WHERE id = $1`, ctx.ID())
})

// Transfer is a request to move cents between accounts.
type Transfer struct {
	From  string `json:"from"`
	To    string `json:"to"`
	Cents int64  `json:"cents"`
}

// Transferring moves cents, step by step, and returns the balance of the second account then.
var Transferring = cruster.NewWorkflow("Transfer", func(ctx cruster.Context, t Transfer) (int64, error) {
	if _, err := Deposit.On(t.From).Call(ctx, -t.Cents); err != nil {
		return 0, err
	}
	if err := Deposit.On(t.To).Send(ctx, t.Cents); err != nil {
		return 0, err
	}
	return Balance.On(t.To).Call(ctx, cruster.None{})
})

// Reporting returns its input.
var Reporting = cruster.NewWorkflow("Reporting", func(_ cruster.Context, cents int64) (int64, error) {
	return cents, nil
})

var _ = cruster.Migrations(cruster.Migration{Version: 1, Name: "names", SQL: `
CREATE TABLE names (
	id   TEXT NOT NULL,
	name TEXT NOT NULL
)`})

func main() {}
