package main

import (
	"context"
	"fmt"
	"path/filepath"
	"time"
)

// W6 is cold start: how long the upload of a module takes, the first workflow of a process whose module was compiled
// before, and a number of instances that are made at once and stay.
func runW6(ctx context.Context, m *meter) error {
	host, n := m.host(), m.plan.sizes.instances
	if err := m.figure("push of a new module", "ms", false, milliseconds(host.pushed), 1); err != nil {
		return err
	}
	// The last --cache-dir counts, and this one is new.
	host.args = append(host.args, "--cache-dir", filepath.Join(filepath.Dir(host.log.Name()), "empty"))
	for _, start := range []string{"first workflow, nothing compiled", "first workflow, compiled before"} {
		if err := host.restart(); err != nil {
			return err
		}
		var took time.Duration
		err := m.measure(ctx, func() (n int, err error) {
			took, err = m.executed(ctx, operation{Kind: "Sequence", Key: m.key(), N: 1}, 0)
			return 1, err
		})
		if err != nil {
			return err
		}
		if err := m.figure(start, "ms", false, milliseconds(took), 1); err != nil {
			return err
		}
	}

	before, took := memory(host.pids()), time.Duration(0)
	err := m.measure(ctx, func() (int, error) {
		start := time.Now()
		_, err := m.waiters(ctx, n, 0)
		took = time.Since(start)
		return n, err
	})
	if err != nil {
		return err
	}
	if err := m.figure(fmt.Sprintf("%d instances at once", n), "ms", false, milliseconds(took), n); err != nil {
		return err
	}
	return m.figure("memory an instance", "KiB", false, (memory(host.pids())-before)/1024/float64(n), n)
}
