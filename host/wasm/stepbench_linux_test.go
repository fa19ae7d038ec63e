package wasm_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/wasm"
)

// stepGuests are the guests of the benchmark, whose steps do next to nothing. That in Rust is there if
// CRUSTER_TEST_MODULES names a folder of modules that were built.
func stepGuests(b testing.TB) map[string][]byte {
	b.Helper()
	file := filepath.Join(b.TempDir(), "load.wasm")
	build := exec.Command(
		"go", "build", "-trimpath", "-buildvcs=false", "-buildmode=c-shared", "-ldflags=-s -w", "-o", file,
		"../../bench/guests/load",
	)
	build.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0", "GOFLAGS=")
	out, err := build.CombinedOutput()
	require.NoError(b, err, "%s", out)
	content, err := os.ReadFile(file)
	require.NoError(b, err)
	guests := map[string][]byte{"go": content}
	if content, err := os.ReadFile(filepath.Join(os.Getenv("CRUSTER_TEST_MODULES"), "load-rust.wasm")); err == nil {
		guests["rust"] = content
	}
	return guests
}

var (
	stepAttempt = abi.Invocation{
		Kind:           abi.InvokeActivity,
		Name:           "step",
		Body:           abi.MustMarshal(5),
		Attempt:        1,
		IdempotencyKey: "0123456789abcdef0123456789abcdef",
		Execution:      "load/Sequence/w1-123456",
		Namespace:      "default",
		Time:           1_700_000_000_000_000_000,
	}
	stepWorkflow = abi.Invocation{
		Kind:      abi.InvokeWorkflow,
		Name:      "Sequence",
		Body:      abi.MustMarshal(map[string]any{"run": "w1-123456", "n": 1_000_000_000, "due": 0}),
		Execution: "load/Sequence/w1-123456",
		Namespace: "default",
		Seed:      make([]byte, 16),
		Time:      1_700_000_000_000_000_000,
	}
)

// BenchmarkStep measures the two calls that a step of a workflow takes: its activity, in an instance of its own, and
// the turn that takes the result and issues the next op. Fuel and pages that were written to are the same on every
// machine.
func BenchmarkStep(b *testing.B) {
	ctx := context.Background()
	for name, content := range stepGuests(b) {
		m := compile(b, newRuntime(b, cached(wasm.Config{})), content)
		b.Run(name+"/activity", func(b *testing.B) {
			input, fuel, calls := abi.MustMarshal(&stepAttempt), int64(0), 0
			first, err := m.Instantiate(ctx, fixedWorld(1))
			require.NoError(b, err)
			_, err = first.Start(ctx, input)
			require.NoError(b, err)
			pages := wasm.PagesWritten(first)
			require.NoError(b, first.Close())
			b.ReportAllocs()
			start := cpuTime()
			for b.Loop() {
				i, err := m.Instantiate(ctx, fixedWorld(1))
				require.NoError(b, err)
				turn, err := i.Start(ctx, input)
				require.NoError(b, err)
				require.False(b, turn.Parked)
				fuel += i.FuelUsed()
				calls++
				_ = i.Close()
			}
			b.ReportMetric(float64(cpuTime()-start)/float64(calls), "cpu-ns/op")
			b.ReportMetric(float64(fuel)/float64(calls), "fuel/op")
			b.ReportMetric(float64(pages), "pages")
		})
		b.Run(name+"/turn", func(b *testing.B) {
			op := uint32(0)
			world := fixedWorld(1)
			world.Op = func(string, []byte) (uint32, *abi.Error) { op++; return op, nil }
			i := instantiate(b, m, world)
			_, err := i.Start(ctx, abi.MustMarshal(&stepWorkflow))
			require.NoError(b, err)
			started, turns := i.FuelUsed(), 0
			b.ReportAllocs()
			start := cpuTime()
			for b.Loop() {
				turn, err := i.Resume(ctx, abi.MustMarshal(&abi.Resume{
					Deliveries: []abi.Delivery{{Op: op, Value: abi.MustMarshal(5)}}, Time: 1_700_000_000_000_000_000,
				}))
				require.NoError(b, err)
				require.True(b, turn.Parked)
				turns++
				if turns == 10 {
					b.ReportMetric(float64(i.FuelUsed()-started)/10, "fuel/first10")
					b.ReportMetric(float64(wasm.PagesWritten(i)), "pages-after10")
				}
			}
			b.ReportMetric(float64(cpuTime()-start)/float64(turns), "cpu-ns/op")
			b.ReportMetric(float64(i.FuelUsed()-started)/float64(turns), "fuel/op")
			b.ReportMetric(float64(started), "fuel/start")
		})
	}
}

// cpuTime returns the processor time of the process: others use this machine, too.
func cpuTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
