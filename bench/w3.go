package main

import (
	"context"
	"fmt"
	"time"
)

// W3 is sleep: how late sleepers wake that are due evenly over a while, and how much memory one takes while all of them
// sleep. Lateness is the real time in the first step after the sleep, less the time the sleeper was due at. The memory
// that the system has beforehand is taken after workflows of one step, so that its heap has grown to its working size
// by then.
func runW3(ctx context.Context, m *meter) error {
	sizes := m.plan.sizes
	began := time.Now()
	warm, err := m.loop(ctx, 3*sizes.warmUp, 32, func(ctx context.Context) (time.Duration, error) {
		return m.executed(ctx, operation{Kind: "Sequence", Key: m.key(), N: 1}, 0)
	})
	if err != nil {
		return err
	}
	// A system that is slow now gets twice the time that the starts will take, and twice that if they take longer all
	// the same.
	sleep := max(sizes.sleep, 2*time.Since(began)*time.Duration(sizes.sleepers)/time.Duration(len(warm)))
	before := memory(m.target.pids())
	var late []float64
	err = m.measure(ctx, func() (int, error) {
		sleepers, err := m.fallAsleep(ctx, sleep)
		for ; err == nil && sleepers == nil; sleep *= 2 {
			sleepers, err = m.fallAsleep(ctx, 2*sleep)
		}
		if err != nil {
			return 0, err
		}
		taken := memory(m.target.pids()) - before
		if err := m.figure(
			"memory a sleeper", "KiB", false, taken/1024/float64(len(sleepers)), len(sleepers),
		); err != nil {
			return 0, err
		}
		late, err = m.lateness(ctx, sleepers)
		return len(sleepers), err
	})
	if err != nil {
		return err
	}
	return m.latencies("lateness", late)
}

// fallAsleep starts all sleepers, and returns a little before the first is due. It returns none if the starts took
// longer than that.
func (m *meter) fallAsleep(ctx context.Context, sleep time.Duration) ([]operation, error) {
	first := time.Now().Add(sleep)
	sleepers := make([]operation, m.plan.sizes.sleepers)
	for i := range sleepers {
		due := first.Add(m.plan.sizes.wakes * time.Duration(i) / time.Duration(len(sleepers)))
		sleepers[i] = operation{Kind: "Sleeper", Key: m.key(), Due: due.UnixMilli()}
	}
	err := m.each(ctx, len(sleepers), 32, func(ctx context.Context, i int) error {
		return m.target.start(ctx, sleepers[i])
	})
	if err != nil {
		return nil, err
	}
	left := time.Until(first.Add(-sleep / 20))
	if left < 0 {
		return nil, nil
	}
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(left):
		return sleepers, nil
	}
}

// lateness waits for sleepers, after the last of them was due: waiting clients would be load.
func (m *meter) lateness(ctx context.Context, sleepers []operation) ([]float64, error) {
	last := time.UnixMilli(sleepers[len(sleepers)-1].Due)
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(time.Until(last)):
	}
	late := make([]float64, len(sleepers))
	err := m.each(ctx, len(sleepers), 32, func(ctx context.Context, i int) error {
		woke, err := m.target.wait(ctx, sleepers[i])
		late[i] = float64(woke)/1e3 - float64(sleepers[i].Due)
		if err == nil && late[i] < -2 {
			err = fmt.Errorf("sleeper %s woke %v ms early", sleepers[i].Key, -late[i])
		}
		return err
	})
	return late, err
}
