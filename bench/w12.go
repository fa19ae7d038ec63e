package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	client "github.com/cruster/cruster/clients/go"
)

// W12 is what else entities do: reads of a state, calls of entities without one, and workflows that move an amount from
// one account to another while they hold both.
func runW12(ctx context.Context, m *meter) error {
	host := m.host()
	get := client.Operation[struct{}, int64](host.client, "load/Counter", "get")
	echo := client.Operation[int64, int64](host.client, "load/Echo", "echo")
	kept := client.Operation[int64, int64](host.client, "load/Echo", "kept")
	for _, w := range []struct {
		name string
		call func(ctx context.Context) error
	}{
		{"read", func(ctx context.Context) error { _, err := get.On("read").Call(ctx, struct{}{}); return err }},
		{"stateless", func(ctx context.Context) error { _, err := echo.On("e").Call(ctx, 1); return err }},
		{"persisted", func(ctx context.Context) error { _, err := kept.On("k").Call(ctx, 1); return err }},
	} {
		if err := m.calls(ctx, w.name, m.plan.sizes.clients, timed(w.call)); err != nil {
			return err
		}
	}
	return m.lockTransfers(ctx, host)
}

// timed measures one call.
func timed(call func(ctx context.Context) error) func(ctx context.Context) (time.Duration, error) {
	return func(ctx context.Context) (time.Duration, error) {
		start := time.Now()
		err := call(ctx)
		return time.Since(start), err
	}
}

// move is the request of a transfer under locks.
type move struct {
	Run  string `json:"run"`
	From string `json:"from"`
	To   string `json:"to"`
}

// lockTransfers has clients move amounts between accounts, and checks that the sum is unchanged.
func (m *meter) lockTransfers(ctx context.Context, host *cruster) error {
	run := m.key()
	account := func(i int) string { return "account-" + run + "-" + strconv.Itoa(i) }
	moves := client.Workflow[move, int64](host.client, "load/Move")
	err := m.calls(ctx, "lock-transfer", m.plan.sizes.clients, timed(func(ctx context.Context) error {
		from := rand.IntN(m.plan.sizes.accounts)
		to := (from + 1 + rand.IntN(m.plan.sizes.accounts-1)) % m.plan.sizes.accounts
		_, err := moves.Execute(ctx, move{Run: m.key(), From: account(from), To: account(to)})
		return err
	}))
	if err != nil {
		return err
	}
	get := client.Operation[struct{}, int64](host.client, "load/Counter", "get")
	sum := int64(0)
	for i := range m.plan.sizes.accounts {
		n, err := get.On(account(i)).Call(ctx, struct{}{})
		if err != nil {
			return err
		}
		sum += n
	}
	if sum != 0 {
		return fmt.Errorf("the accounts have %d together after transfers, not 0", sum)
	}
	return nil
}
