// Package messages sends signals, asks queries and calls entities; the pages docs/signals-and-queries.md and
// docs/entities.md quote it. messages.rs is the same in Rust.
package messages

import (
	"errors"
	"time"

	cruster "github.com/cruster/cruster/guest-sdk/go"
)

// Signals and a query.

type Payment struct {
	Cents int64 `json:"cents"`
}

var Paid = cruster.NewSignal[Payment]("paid")

var Left = cruster.NewQuery[cruster.None, int64]("left")

var Invoice = cruster.NewWorkflow("Invoice", invoice).Accepts(Paid).Answers(Left)

func invoice(ctx cruster.Context, cents int64) (int64, error) {
	Left.Handle(ctx, func(cruster.None) (int64, error) { return cents, nil })
	for cents > 0 {
		payment, err := Paid.Receive(ctx)
		if err != nil {
			return cents, err
		}
		cents -= payment.Cents
	}
	return cents, nil
}

var Patient = cruster.NewWorkflow("Patient", patient).Accepts(Paid)

func patient(ctx cruster.Context, _ cruster.None) (int64, error) {
	payment, err := cruster.WithTimeout(ctx, 30*24*time.Hour, Paid.Future(ctx))
	if errors.Is(err, cruster.ErrTimeout) {
		return 0, nil // no one has paid
	}
	return payment.Cents, err
}

var Payer = cruster.NewWorkflow("Payer", payer)

func payer(ctx cruster.Context, cents int64) (int64, error) {
	execution, err := Invoice.Client().Start(ctx, cents)
	if err != nil {
		return 0, err
	}
	if err := Paid.Send(ctx, execution, Payment{Cents: cents}); err != nil {
		return 0, err
	}
	return Invoice.Client().Execute(ctx, cents)
}

// An entity with a state, whose shape has changed once.

type Account struct {
	Cents  int64     `json:"cents"`
	Opened time.Time `json:"opened"`
}

type accountInEuros struct {
	Euros  int64     `json:"euros"`
	Opened time.Time `json:"opened"`
}

var Accounts = cruster.NewStatefulEntity[Account]("Account",
	cruster.MigrateState(func(old accountInEuros) (Account, error) {
		return Account{Cents: 100 * old.Euros, Opened: old.Opened}, nil
	}),
).OnCreate(func(_ *cruster.EntityContext, a *Account) error {
	a.Opened = time.Now()
	return nil
})

var Deposit = cruster.NewOperation(Accounts, "deposit",
	func(_ *cruster.EntityContext, a *Account, cents int64) (int64, error) {
		if a.Cents += cents; a.Cents < 0 {
			return 0, cruster.Errorf("too_poor", "%d cents are missing", -a.Cents)
		}
		return a.Cents, nil
	})

var Balance = cruster.NewReadOnly(Accounts, "balance",
	func(_ *cruster.ReadContext, a Account, _ cruster.None) (int64, error) { return a.Cents, nil })

type Gift struct {
	To    string `json:"to"`
	Cents int64  `json:"cents"`
}

var Give = cruster.NewOperation(Accounts, "give",
	func(ctx *cruster.EntityContext, a *Account, g Gift) (int64, error) {
		if g.Cents > a.Cents {
			return 0, cruster.Errorf("too_poor", "%s has only %d cents", ctx.ID(), a.Cents)
		}
		a.Cents -= g.Cents
		return a.Cents, Deposit.On(g.To).Send(ctx, g.Cents)
	})

var Close = cruster.NewOperation(Accounts, "close",
	func(ctx *cruster.EntityContext, a *Account, _ cruster.None) (int64, error) {
		ctx.Destroy()
		return a.Cents, nil
	})

// A workflow that calls entities.

type Transfer struct {
	From  string `json:"from"`
	To    string `json:"to"`
	Cents int64  `json:"cents"`
}

var Transfers = cruster.NewWorkflow("Transfer", transfer)

func transfer(ctx cruster.Context, t Transfer) (int64, error) {
	left, err := Deposit.On(t.From).Call(ctx, -t.Cents)
	if err != nil {
		return 0, err
	}
	return left, Deposit.On(t.To).Send(ctx, t.Cents)
}

// An entity without a state.

type User struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

var Gateway = cruster.NewEntity("Gateway",
	cruster.MailboxCapacity(50), cruster.Concurrency(4), cruster.MaxIdleTime(2*time.Minute))

var Profile = cruster.NewRPC(Gateway, "profile", func(ctx *cruster.RPCContext, id string) (User, error) {
	return cruster.QueryRow[User](ctx.Tx(), `SELECT id, name FROM users WHERE id = $1`, id)
})

var Rename = cruster.NewRPC(Gateway, "rename", func(ctx *cruster.RPCContext, u User) (bool, error) {
	changed, err := ctx.Tx().Exec(`UPDATE users SET name = $2 WHERE id = $1`, u.ID, u.Name)
	return changed == 1, err
}, cruster.Persisted())
