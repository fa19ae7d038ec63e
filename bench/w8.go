package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	client "github.com/cruster/cruster/clients/go"
)

type account struct {
	Account string `json:"account"`
	Balance int64  `json:"balance_cents"`
}

type transfer struct {
	ID     string `json:"transfer_id"`
	From   string `json:"from"`
	To     string `json:"to"`
	Amount int64  `json:"amount_cents"`
}

type transferred struct {
	ID   string `json:"transfer_id"`
	From int64  `json:"from_balance_cents"`
	To   int64  `json:"to_balance_cents"`
}

// W8 is activities with SQL: the example transfer, whose one step moves money between two of some accounts and commits
// together with its journal entry.
func runW8(ctx context.Context, m *meter) error {
	host, accounts := m.host(), m.plan.sizes.accounts
	name := func(i int) string { return fmt.Sprintf("account-%d-%d", m.rep, i) }
	open := client.Workflow[account, account](host.client, "transfer/OpenAccount")
	err := m.each(ctx, accounts, m.plan.sizes.clients, func(ctx context.Context, i int) error {
		_, err := open.Execute(ctx, account{Account: name(i), Balance: 1 << 40})
		return err
	})
	if err != nil {
		return err
	}
	move := client.Workflow[transfer, transferred](host.client, "transfer/Transfer")
	times, err := m.repeat(ctx, m.plan.sizes.clients, func(ctx context.Context) (time.Duration, error) {
		from := rand.IntN(accounts)
		to := (from + 1 + rand.IntN(accounts-1)) % accounts
		order := transfer{ID: m.key(), From: name(from), To: name(to), Amount: 1}
		start := time.Now()
		done, err := move.Execute(ctx, order)
		if err == nil && done.ID != order.ID {
			err = fmt.Errorf("transfer %s returned %+v", order.ID, done)
		}
		return time.Since(start), err
	})
	if err != nil {
		return err
	}
	if err := m.figure("transfers", "transfers/s", true, float64(len(times))/m.cost.Seconds, len(times)); err != nil {
		return err
	}
	return m.latencies("transfer", times)
}
