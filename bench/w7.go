package main

import (
	"context"
	"fmt"
	"time"

	client "github.com/cruster/cruster/clients/go"
)

// W7 is the cost of a wake with a replay: executions take some steps and wait, the host is killed and started
// again, and each is settled. The time runs from the request until the result is there.
func runW7(ctx context.Context, m *meter) error {
	runs := map[int][]client.Run[int64]{}
	for _, length := range m.plan.sizes.lengths {
		waiting, err := m.waiters(ctx, m.plan.sizes.lengthRuns, length)
		if err != nil {
			return err
		}
		runs[length] = waiting
	}
	if err := m.host().restart(); err != nil {
		return err
	}
	for _, length := range m.plan.sizes.lengths {
		var times []float64
		err := m.measure(ctx, func() (int, error) {
			for _, run := range runs[length] {
				run = client.Attach[int64](m.host().client, run.Execution())
				start := time.Now()
				if err := run.Resolve(ctx, "settled", 7); err != nil {
					return 0, err
				}
				value, err := run.Wait(ctx)
				times = append(times, milliseconds(time.Since(start)))
				if err := settled(value, err); err != nil {
					return 0, err
				}
			}
			return len(times), nil
		})
		if err != nil {
			return err
		}
		if err := m.figure(
			fmt.Sprintf("wake after %d steps p50", length), "ms", false, percentile(times, 50), len(times),
		); err != nil {
			return err
		}
	}
	return nil
}
