package main

import (
	"context"
	"time"
)

// W2 is the latency of the smallest workflow: one step, alone.
func runW2(ctx context.Context, m *meter) error {
	times, err := m.repeat(ctx, 1, func(ctx context.Context) (time.Duration, error) {
		return m.executed(ctx, operation{Kind: "Sequence", Key: m.key(), N: 1}, 0)
	})
	if err != nil {
		return err
	}
	return m.latencies("one step", times)
}
