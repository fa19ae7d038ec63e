package main

import (
	"context"
	"time"
)

// W10 is density: how much memory a host has for each of many executions that sleep for long, and how it starts with
// them in its store. The memory is taken as for a sleeper in W3, a while after the last sleeper has left the host's
// memory.
func runW10(ctx context.Context, m *meter) error { return runDense(ctx, m, "Sleeper", "sleeper") }

// runDense starts many executions of a kind that rest for long.
func runDense(ctx context.Context, m *meter, kind, name string) error {
	host, n := m.host(), m.plan.sizes.dense
	_, err := m.loop(ctx, 3*m.plan.sizes.warmUp, 32, func(ctx context.Context) (time.Duration, error) {
		return m.executed(ctx, operation{Kind: "Sequence", Key: m.key(), N: 1}, 0)
	})
	if err != nil {
		return err
	}
	before, due := memory(host.pids()), time.Now().Add(24*time.Hour).UnixMilli()
	err = m.measure(ctx, func() (int, error) {
		return n, m.each(ctx, n, 32, func(ctx context.Context, _ int) error {
			return host.start(ctx, operation{Kind: kind, Key: m.key(), Due: due})
		})
	})
	if err != nil {
		return err
	}
	if err := m.figure("starts of "+name+"s", "starts/s", true, float64(n)/m.cost.Seconds, n); err != nil {
		return err
	}
	if err := host.resting(ctx, m.plan.sizes.settles); err != nil {
		return err
	}
	if err := m.figure("memory a "+name, "KiB", false, (memory(host.pids())-before)/1024/float64(n), n); err != nil {
		return err
	}
	start := time.Now()
	if err := host.restart(); err != nil {
		return err
	}
	if err := m.figure("start with "+name+"s", "ms", false, milliseconds(time.Since(start)), 1); err != nil {
		return err
	}
	if err := host.resting(ctx, m.plan.sizes.settles); err != nil {
		return err
	}
	return m.figure("memory after that", "MiB", false, memory(host.pids())/(1<<20), 1)
}

// resting waits until the host has no execution in memory, and then for a while in which it can give memory back.
func (c *cruster) resting(ctx context.Context, settles time.Duration) error {
	for wait := 100 * time.Millisecond; ; {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(wait): // until the next look at another process
		}
		if wait == settles {
			return nil
		}
		n, err := c.metric(ctx, "cruster_executions_in_memory")
		if err != nil {
			return err
		}
		if n == 0 {
			wait = settles
		}
	}
}
