// Command transfer moves money between accounts: one activity, one SQL transaction, which commits together with the
// step's journal entry. The money moves exactly once, even if the host crashes.
package main

import (
	"errors"
	"time"

	cruster "github.com/cruster/cruster/guest-sdk/go"
)

// AccountRequest is the request of OpenAccount.
type AccountRequest struct {
	Account      string `json:"account"`
	BalanceCents int64  `json:"balance_cents"`
}

// Account is an account and its balance.
type Account struct {
	Account      string `json:"account"`
	BalanceCents int64  `json:"balance_cents"`
}

// OpenAccount opens an account with a first balance.
var OpenAccount = cruster.NewWorkflow("OpenAccount", openAccount,
	cruster.RawKey(func(r AccountRequest) string { return r.Account }))

func openAccount(ctx cruster.Context, req AccountRequest) (Account, error) {
	if req.Account == "" || req.BalanceCents < 0 {
		return Account{}, cruster.Errorf("invalid_account", "an account needs a name and a balance of zero or more")
	}
	return Open.Call(ctx, req)
}

// TransferRequest is the request of Transfer.
type TransferRequest struct {
	TransferID  string `json:"transfer_id"`
	From        string `json:"from"`
	To          string `json:"to"`
	AmountCents int64  `json:"amount_cents"`
}

// TransferResult is the result of Transfer: the balances after it.
type TransferResult struct {
	TransferID       string `json:"transfer_id"`
	FromBalanceCents int64  `json:"from_balance_cents"`
	ToBalanceCents   int64  `json:"to_balance_cents"`
}

// Transfer moves money from one account to another, once per transfer id.
var Transfer = cruster.NewWorkflow("Transfer", transfer,
	cruster.RawKey(func(r TransferRequest) string { return r.TransferID }))

func transfer(ctx cruster.Context, req TransferRequest) (TransferResult, error) {
	if req.TransferID == "" || req.AmountCents <= 0 || req.From == req.To {
		return TransferResult{}, cruster.Errorf(
			"invalid_transfer", "a transfer needs an id, two different accounts and an amount above zero",
		)
	}
	return Move.Call(ctx, req)
}

// Open inserts an account.
var Open = cruster.NewActivity("open", open, cruster.Retries(3), cruster.ExponentialBackoff(100*time.Millisecond))

func open(ctx *cruster.ActivityContext, req AccountRequest) (Account, error) {
	n, err := ctx.Tx().Exec(
		`INSERT INTO accounts (account, balance_cents) VALUES ($1, $2) ON CONFLICT (account) DO NOTHING`,
		req.Account, req.BalanceCents,
	)
	if err != nil {
		return Account{}, err
	}
	if n == 0 {
		return Account{}, cruster.NonRetryable(cruster.Errorf("account_exists", "account %s exists", req.Account))
	}
	return Account(req), nil
}

// Move is the transfer itself.
var Move = cruster.NewActivity("move", move, cruster.Retries(5), cruster.ExponentialBackoff(100*time.Millisecond))

func move(ctx *cruster.ActivityContext, req TransferRequest) (TransferResult, error) {
	tx := ctx.Tx()
	changes := []struct {
		account string
		delta   int64
	}{{req.From, -req.AmountCents}, {req.To, req.AmountCents}}
	// Rows are locked in the order of their names, so that two transfers in opposite directions do not wait for each
	// other.
	if req.To < req.From {
		changes[0], changes[1] = changes[1], changes[0]
	}
	for _, c := range changes {
		n, err := tx.Exec(
			`UPDATE accounts SET balance_cents = balance_cents + $1 WHERE account = $2`, c.delta, c.account,
		)
		if err != nil {
			return TransferResult{}, err
		}
		if n == 0 {
			return TransferResult{}, cruster.NonRetryable(cruster.Errorf(
				"unknown_account", "there is no account %s", c.account,
			))
		}
	}
	from, err := balance(tx, req.From)
	if err != nil {
		return TransferResult{}, err
	}
	if from < 0 {
		// The error rolls the transaction back: nothing has moved.
		return TransferResult{}, cruster.NonRetryable(cruster.WithDetails(
			cruster.Errorf("insufficient_funds", "account %s lacks %d cents", req.From, -from),
			map[string]int64{"missing_cents": -from}))
	}
	to, err := balance(tx, req.To)
	if err != nil {
		return TransferResult{}, err
	}
	_, err = tx.Exec(`INSERT INTO ledger (transfer_id, from_account, to_account, amount_cents) VALUES ($1, $2, $3, $4)`,
		req.TransferID, req.From, req.To, req.AmountCents)
	if err != nil {
		return TransferResult{}, err
	}
	return TransferResult{TransferID: req.TransferID, FromBalanceCents: from, ToBalanceCents: to}, nil
}

func balance(tx *cruster.Tx, account string) (int64, error) {
	cents, err := cruster.QueryRow[int64](tx, `SELECT balance_cents FROM accounts WHERE account = $1`, account)
	if errors.Is(err, cruster.ErrNoRows) {
		return 0, cruster.NonRetryable(cruster.Errorf("unknown_account", "there is no account %s", account))
	}
	return cents, err
}

var _ = cruster.Migrations(
	cruster.Migration{Version: 1, Name: "accounts", SQL: `
CREATE TABLE accounts (
	account       TEXT PRIMARY KEY,
	balance_cents BIGINT NOT NULL
)`},
	cruster.Migration{Version: 2, Name: "ledger", SQL: `
CREATE TABLE ledger (
	transfer_id  TEXT NOT NULL,
	from_account TEXT NOT NULL,
	to_account   TEXT NOT NULL,
	amount_cents BIGINT NOT NULL
)`},
)

func main() {}
