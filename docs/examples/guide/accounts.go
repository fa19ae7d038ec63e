package guide

import cruster "github.com/cruster/cruster/guest-sdk/go"

// Keep a state in an entity.

type Account struct {
	Cents int64 `json:"cents"`
}

var Accounts = cruster.NewStatefulEntity[Account]("Account")

var Withdraw = cruster.NewOperation(Accounts, "withdraw",
	func(ctx *cruster.EntityContext, a *Account, cents int64) (int64, error) {
		if a.Cents -= cents; a.Cents < 0 {
			return 0, cruster.Errorf("overdrawn", "%d cents are missing", -a.Cents)
		}
		return a.Cents, nil
	})

var Balance = cruster.NewReadOnly(Accounts, "balance",
	func(ctx *cruster.ReadContext, a Account, _ cruster.None) (int64, error) { return a.Cents, nil })

var WithdrawTwice = cruster.NewWorkflow("WithdrawTwice", withdrawTwice)

func withdrawTwice(ctx cruster.Context, _ cruster.None) (int64, error) {
	left, err := Withdraw.On("ada").Call(ctx, 500)
	if err != nil {
		return 0, err
	}
	err = Withdraw.On("ada").Send(ctx, 500)
	return left, err
}
