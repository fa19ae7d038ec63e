package main

import (
	"context"
	"time"
)

// W4 is the latency of a workflow of many steps at once, alone.
func runW4(ctx context.Context, m *meter) error {
	n := m.plan.sizes.parallel
	times, err := m.repeat(ctx, 1, func(ctx context.Context) (time.Duration, error) {
		return m.executed(ctx, operation{Kind: "Parallel", Key: m.key(), N: n}, sum(n))
	})
	if err != nil {
		return err
	}
	return m.latencies("parallel steps", times)
}
