package main

import (
	"context"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/cruster/cruster/client"
)

// W11 is entities: a counter that many call at once, counters of which each call has
// another, one caller alone, reads, and calls of entities without a state. A call has an id
// by which it could be repeated, as the client does it.
func runW11(ctx context.Context, m *meter) error {
	host := m.host()
	add := client.Operation[int64, int64](host.client, "load/Counter", "add")
	hot := "hot-" + m.key()
	if err := m.hot(ctx, add.On(hot)); err != nil {
		return err
	}
	var calls atomic.Int64
	spread := m.entity(func(ctx context.Context) error {
		_, err := add.On("spread-"+strconv.FormatInt(calls.Add(1)%int64(m.plan.sizes.entities), 10)).Call(ctx, 1)
		return err
	})
	get := client.Operation[struct{}, int64](host.client, "load/Counter", "get")
	echo := client.Operation[int64, int64](host.client, "load/Echo", "echo")
	kept := client.Operation[int64, int64](host.client, "load/Echo", "kept")
	for _, w := range []struct {
		name    string
		clients int
		call    func(ctx context.Context) (time.Duration, error)
	}{
		{"spread", m.plan.sizes.clients, spread},
		{"alone", 1, m.entity(func(ctx context.Context) error { _, err := add.On("alone").Call(ctx, 1); return err })},
		{"read", m.plan.sizes.clients, m.entity(func(ctx context.Context) error { _, err := get.On(hot).Call(ctx, struct{}{}); return err })},
		{"stateless", m.plan.sizes.clients, m.entity(func(ctx context.Context) error { _, err := echo.On("e").Call(ctx, 1); return err })},
		{"persisted", m.plan.sizes.clients, m.entity(func(ctx context.Context) error { _, err := kept.On("k").Call(ctx, 1); return err })},
	} {
		if err := m.calls(ctx, w.name, w.clients, w.call); err != nil {
			return err
		}
	}
	return nil
}

// entity measures one call.
func (m *meter) entity(call func(ctx context.Context) error) func(ctx context.Context) (time.Duration, error) {
	return func(ctx context.Context) (time.Duration, error) {
		start := time.Now()
		err := call(ctx)
		return time.Since(start), err
	}
}

// calls makes calls for a while, and tells how many there were a second and how long they took.
func (m *meter) calls(ctx context.Context, name string, clients int, call func(ctx context.Context) (time.Duration, error)) error {
	times, err := m.repeat(ctx, clients, call)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if err := m.figure(name, "calls/s", true, float64(len(times))/m.cost.Seconds, len(times)); err != nil {
		return err
	}
	return m.latencies(name, times)
}

// hot has all clients call one counter, and checks that each call counted once.
func (m *meter) hot(ctx context.Context, add client.EntityOf[int64, int64]) error {
	var acknowledged, highest atomic.Int64
	err := m.calls(ctx, "hot", m.plan.sizes.clients, m.entity(func(ctx context.Context) error {
		n, err := add.Call(ctx, 1)
		if err != nil {
			return err
		}
		acknowledged.Add(1)
		for seen := highest.Load(); n > seen && !highest.CompareAndSwap(seen, n); seen = highest.Load() {
		}
		return nil
	}))
	if err == nil && acknowledged.Load() != highest.Load() {
		err = fmt.Errorf("the counter is at %d after %d calls", highest.Load(), acknowledged.Load())
	}
	return err
}
