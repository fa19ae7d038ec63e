package main

import (
	"context"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"
)

// W11 is objects with a state: a counter that many call at once, a counter for each call, and one
// caller alone. A call has an id by which it could be repeated.
func runW11(ctx context.Context, m *meter) error {
	if err := m.hot(ctx, "hot-"+m.key()); err != nil {
		return err
	}
	var calls atomic.Int64
	err := m.calls(ctx, "spread", m.plan.sizes.clients, func(ctx context.Context) (time.Duration, error) {
		_, took, err := m.add(ctx, "spread-"+strconv.FormatInt(calls.Add(1)%int64(m.plan.sizes.entities), 10))
		return took, err
	})
	if err != nil {
		return err
	}
	return m.calls(ctx, "alone", 1, func(ctx context.Context) (time.Duration, error) {
		_, took, err := m.add(ctx, "alone")
		return took, err
	})
}

// add adds one to a counter, and returns the new value.
func (m *meter) add(ctx context.Context, object string) (int64, time.Duration, error) {
	return m.target.execute(ctx, operation{Kind: kindAdd, Key: m.key(), Object: object, N: 1})
}

// calls makes calls for a while, and tells how many there were a second and how long they took.
func (m *meter) calls(
	ctx context.Context, name string, clients int, call func(ctx context.Context) (time.Duration, error),
) error {
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
func (m *meter) hot(ctx context.Context, object string) error {
	var acknowledged, highest atomic.Int64
	err := m.calls(ctx, "hot", m.plan.sizes.clients, func(ctx context.Context) (time.Duration, error) {
		n, took, err := m.add(ctx, object)
		if err != nil {
			return 0, err
		}
		acknowledged.Add(1)
		for seen := highest.Load(); n > seen && !highest.CompareAndSwap(seen, n); seen = highest.Load() {
		}
		return took, nil
	})
	if err == nil && acknowledged.Load() != highest.Load() {
		err = fmt.Errorf("the counter is at %d after %d calls", highest.Load(), acknowledged.Load())
	}
	return err
}
