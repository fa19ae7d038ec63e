// Package storm_test has thousands of executions want something at the same moment: all recover, all timers fire, all
// wait for others. The host is the real binary on real stores. It gets through with the memory that it was given. How
// long that takes is printed and not asserted.
//
// `make test` has a few hundred of each; in full they are all there (package extenttest). Start reading at
// storm_test.go; host_test.go has the host and its clients.
package storm_test

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/internal/extenttest"
	"github.com/cruster/cruster/internal/harness"
	"github.com/cruster/cruster/internal/pgtest"
)

func TestMain(m *testing.M) {
	os.Exit(pgtest.Main(m))
}

const (
	mib = 1 << 20
	// goInstance is the least memory that an instance of a module in Go takes from the budget.
	goInstance = 4 * mib
	// overhead is the memory of a host besides its instances: its code, the modules' code, the caches of the store, and
	// the part of each execution that stays in memory.
	overhead = 192 * mib
)

// TestRecoveryWithinTheBudget kills a host whose executions are all in the middle of an activity. The next one has
// memory for few instances, and all of them to bring back at once. In Rust there are more than may work at the same
// time, in Go in full.
func TestRecoveryWithinTheBudget(t *testing.T) {
	t.Parallel()
	storms := []struct {
		language, folder string
		n                int
		budget           int64
	}{
		{"go", "tests/guests/storm", extenttest.Sized(3000, 120), int64(extenttest.Sized(100, 8) * goInstance)},
		{"rust", "tests/guests/storm/rust", extenttest.Sized(15_000, 6000), 16 * mib},
	}
	for _, c := range extenttest.Each(t, len(storms), len(harness.StoreKinds)) {
		storm, kind := storms[c[0]], harness.StoreKinds[c[1]]
		t.Run(storm.language+"/"+kind, func(t *testing.T) {
			t.Parallel()
			at, gate := storeOf(t, kind), startGate(t)
			first := at.host(t)
			first.push(storm.folder, gate)
			first.startAll("storm/Gated", 0, storm.n, func(i int) any { return i })
			first.kill()

			second := at.host(t, "--memory", bytesOf(storm.budget))
			gate.open()
			second.awaitAll("storm/Gated", storm.n)
			require.GreaterOrEqual(t, gate.passed(), storm.n)
			second.requireMemory(storm.budget + overhead)
		})
	}
}

// TestTimersOfOneSecond has all sleepers, in Rust, wake within one second.
func TestTimersOfOneSecond(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, at store) {
		const budget = 64 * mib
		n := extenttest.Sized(100_000, 500)
		h := at.host(t, "--memory", bytesOf(budget), "--idle-timeout", "1s")
		h.push("tests/guests/storm/rust", nil)
		// How long the starts will take is known once some were made. A sleeper that is started too late does not
		// sleep, and counts all the same.
		probes, began := n/50, time.Now()
		h.startAll("storm/Sleeper", 0, probes, func(i int) any { return map[string]any{"n": i, "until": 0} })
		wake := time.Now().Add(2 * 50 * time.Since(began)).Add(time.Second)
		h.startAll("storm/Sleeper", probes, n, func(i int) any {
			return map[string]any{"n": i, "until": wake.UnixMilli() + int64(i%1000)}
		})
		t.Logf("%d were started %v before the first was to wake", n, time.Until(wake).Round(time.Millisecond))
		h.awaitAll("storm/Sleeper", n)
		h.requireMemory(budget + overhead)
	})
}

// TestParentsDoNotBlockTheirChildren: executions that wait for their children are many more than the host may have in
// memory, and than it runs activities at the same time. They hold nothing that the children need.
func TestParentsDoNotBlockTheirChildren(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, at store) {
		n, limit := extenttest.Sized(24_000, 120), extenttest.Sized(2_000, 10)
		gate := startGate(t)
		first := at.host(t, "--max-executions", "1000000")
		first.push("tests/guests/storm/rust", gate)
		first.startAll("storm/Parent", 0, n, func(i int) any { return i })
		first.awaitRunning("storm/Gated", n)
		first.kill()

		const budget = 64 * mib
		second := at.host(t, "--max-executions", text(limit), "--max-activities", "4", "--memory", bytesOf(budget))
		gate.open()
		second.awaitAll("storm/Gated", n)
		second.awaitAll("storm/Parent", n)
		second.requireMemory(budget + overhead)
	})
}
