package faults

import (
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host"
	"github.com/cruster/cruster/host/faultpoint"
	"github.com/cruster/cruster/internal/harness"
	"github.com/cruster/cruster/internal/undertest"
	"github.com/cruster/cruster/journal"
)

// TestFanOutOfFailures has 300 steps fail with long messages while the store takes no commits, so that all of them are
// to be delivered at the same moment: more than one turn may carry.
func TestFanOutOfFailures(t *testing.T) {
	t.Parallel()
	const steps, size = 300, 16 << 10
	store := &failing{Store: harness.Store(t, "sqlite")}
	var ran atomic.Int64
	e := engine(t, store, func(c *host.Config) {
		undertest.Of(&c.UnderTest).FaultPoint = func(point string) {
			if point == faultpoint.ActivityAfter {
				ran.Add(1)
			}
		}
	})
	harness.Push(t, e, "steps", "tests/guests/steps")
	store.fail(func(call string) mode {
		if n := ran.Load(); call == "commit" && n > 0 && n < steps {
			return refused
		}
		return healthy
	})
	row := harness.Wait(t, e, harness.Start(t, e, "steps/FanOut", object{"N": steps, "Size": size}))
	require.Equal(t, journal.Completed, row.State, "%v", row.Error)
	require.Equal(t, abi.MustMarshal(steps), row.Value)
}
