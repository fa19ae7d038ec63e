package main

import (
	"context"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// A meter is the argument of a workload: a running system, its sizes, and a place for figures.
type meter struct {
	plan     *plan
	setup    setup
	target   target
	workload workload
	rep      int
	load     float64 // of the machine when the workload began
	cost     cost    // of the last measurement
	keys     atomic.Int64
}

// patience is how long a workload may take: a run without a person must end.
const patience = 10 * time.Minute

func (m *meter) run(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return m.workload.run(ctx, m)
}

// key is a new key each time.
func (m *meter) key() string {
	return fmt.Sprintf("%s-%d-%d", m.workload.name, m.rep, m.keys.Add(1))
}

// figure writes down a number, with the cost of the last measurement beside it.
func (m *meter) figure(metric, unit string, higherIsBetter bool, value float64, samples int) error {
	return m.plan.record(figure{
		Time:           time.Now().UTC().Format(time.RFC3339),
		Workload:       m.workload.name,
		Metric:         metric,
		setup:          m.setup,
		Repetition:     m.rep,
		Value:          value,
		Unit:           unit,
		HigherIsBetter: higherIsBetter,
		Samples:        samples,
		cost:           m.cost,
		Version:        m.plan.versionOf(m.target),
		Machine:        m.plan.machine,
		FsyncMicros:    m.plan.fsync,
		Filesystem:     m.plan.filesystem,
		LoadAtStart:    m.load,
	})
}

// latencies writes down the median and the 99th percentile.
func (m *meter) latencies(metric string, milliseconds []float64) error {
	if err := m.figure(metric+" p50", "ms", false, percentile(milliseconds, 50), len(milliseconds)); err != nil {
		return err
	}
	return m.figure(metric+" p99", "ms", false, percentile(milliseconds, 99), len(milliseconds))
}

// measure does something and takes its cost; the work returns how many workflows it has run.
func (m *meter) measure(ctx context.Context, work func() (operations int, err error)) error {
	before, err := m.snapshot(ctx)
	if err != nil {
		return err
	}
	start := time.Now()
	operations, err := work()
	if err != nil {
		return err
	}
	took := time.Since(start).Seconds()
	after, err := m.snapshot(ctx)
	if err != nil {
		return err
	}
	m.cost = cost{
		Seconds:    took,
		Operations: operations,
		CPU:        after.CPU - before.CPU,
		ClientCPU:  after.ClientCPU - before.ClientCPU,
		StoreCPU:   after.StoreCPU - before.StoreCPU,
		Stolen:     after.Stolen - before.Stolen,
		Commits:    difference(after.Commits, before.Commits),
		Flushes:    difference(after.Flushes, before.Flushes),
	}
	return nil
}

func difference(after, before *float64) *float64 {
	if after == nil || before == nil {
		return nil
	}
	d := *after - *before
	return &d
}

func (m *meter) snapshot(ctx context.Context) (cost, error) {
	c := cost{
		CPU:       processorTime(m.target.pids()),
		ClientCPU: processorTime([]int{os.Getpid()}),
		Stolen:    stolenTime(),
	}
	commits, counted, err := m.target.commits(ctx)
	if err != nil {
		return cost{}, err
	}
	if counted {
		c.Commits = &commits
	}
	if m.setup.Store == postgres {
		c.StoreCPU = processorTime(family(m.plan.bed.postmaster()))
		flushes, err := m.plan.bed.flushes(ctx)
		if err != nil {
			return cost{}, err
		}
		c.Flushes = &flushes
	}
	return c, nil
}

// repeat does one thing again and again for as long as the sizes say, by several clients at once, after a while of
// warming up. It returns how long each took by its own account, in milliseconds. The cost covers all but the
// warm-up.
func (m *meter) repeat(
	ctx context.Context, clients int, one func(ctx context.Context) (time.Duration, error),
) ([]float64, error) {
	if _, err := m.loop(ctx, m.plan.sizes.warmUp, clients, one); err != nil {
		return nil, fmt.Errorf("warm up: %w", err)
	}
	var times []float64
	err := m.measure(ctx, func() (int, error) {
		var err error
		times, err = m.loop(ctx, m.plan.sizes.seconds, clients, one)
		return len(times), err
	})
	return times, err
}

func (m *meter) loop(
	ctx context.Context, seconds float64, clients int, one func(ctx context.Context) (time.Duration, error),
) ([]float64, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	end := time.Now().Add(time.Duration(seconds * float64(time.Second)))
	var mu sync.Mutex
	var times []float64 // guarded by mu
	var all sync.WaitGroup
	for range clients {
		all.Go(func() {
			for first := true; first || time.Now().Before(end); first = false {
				took, err := one(ctx)
				if err != nil {
					cancel(err)
					return
				}
				mu.Lock()
				times = append(times, milliseconds(took))
				mu.Unlock()
			}
		})
	}
	all.Wait()
	return times, context.Cause(ctx)
}

// each does something for the numbers below n, by several clients at once.
func (m *meter) each(ctx context.Context, n, clients int, one func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	var all sync.WaitGroup
	for range min(n, clients) {
		all.Go(func() {
			for i := int(next.Add(1)) - 1; i < n && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				if err := one(ctx, i); err != nil {
					cancel(err)
				}
			}
		})
	}
	all.Wait()
	return context.Cause(ctx)
}

func milliseconds(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e6 }

// executed runs a workflow and compares its result.
func (m *meter) executed(ctx context.Context, op operation, want int64) (time.Duration, error) {
	got, took, err := m.target.execute(ctx, op)
	if err == nil && got != want {
		err = fmt.Errorf("%s %s returned %d, not %d", op.Kind, op.Key, got, want)
	}
	return took, err
}

// host is the target of workloads that only Cruster runs.
func (m *meter) host() *cruster { return m.target.(*cruster) }
