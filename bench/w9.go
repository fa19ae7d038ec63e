package main

import (
	"context"
	"fmt"
	"time"

	"github.com/cruster/cruster/bench/kernel"
	client "github.com/cruster/cruster/clients/go"
)

// W9 is computation: the kernel in an activity against the kernel in this process, by turns. The guest takes its own
// time, so that the figure is about code alone.
func runW9(ctx context.Context, m *meter) error {
	compute := client.Workflow[request, string](m.host().client, "load/Compute")
	var native, guest []float64
	err := m.measure(ctx, func() (int, error) {
		for range 3 {
			start := time.Now()
			want := kernel.Sum(m.plan.sizes.rounds)
			native = append(native, milliseconds(time.Since(start)))
			said, err := compute.Execute(ctx, request{Run: m.key(), N: int64(m.plan.sizes.rounds)})
			if err != nil {
				return 0, err
			}
			var got uint64
			var nanos int64
			if _, err := fmt.Sscan(said, &got, &nanos); err != nil {
				return 0, fmt.Errorf("the guest returned %q: %w", said, err)
			}
			if got != want {
				return 0, fmt.Errorf("the guest computed %d, native Go %d", got, want)
			}
			guest = append(guest, float64(nanos)/1e6)
		}
		return len(guest), nil
	})
	if err != nil {
		return err
	}
	if err := m.figure("native Go p50", "ms", false, percentile(native, 50), len(native)); err != nil {
		return err
	}
	if err := m.figure("guest p50", "ms", false, percentile(guest, 50), len(guest)); err != nil {
		return err
	}
	return m.figure("guest against native", "times", false, percentile(guest, 50)/percentile(native, 50), len(guest))
}
