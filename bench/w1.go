package main

import (
	"context"
	"time"
)

// W1 is throughput: workflows of sequential steps, many at once.
func runW1(ctx context.Context, m *meter) error {
	steps := m.plan.sizes.steps
	times, err := m.repeat(ctx, m.plan.sizes.clients, func(ctx context.Context) (time.Duration, error) {
		return m.executed(ctx, operation{Kind: "Sequence", Key: m.key(), N: steps}, sum(steps))
	})
	if err != nil {
		return err
	}
	return m.figure("throughput", "steps/s", true, float64(len(times)*steps)/m.cost.Seconds, len(times))
}
