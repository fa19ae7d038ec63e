package wasm_test

import (
	"bytes"
	"context"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/wasm"
	"github.com/cruster/cruster/host/wasm/binary/wasmtest"
)

// longGuests compute for long without a loop, each in its own way, and return.
func longGuests() map[string]wasmtest.Module {
	repeat := func(n int, parts ...[]byte) []byte { return bytes.Repeat(wasmtest.Join(parts...), n) }
	park, square := wasmtest.I32Const(abi.StatusParked), []byte{0x20, 0, 0x20, 0, 0x6c, 0x21, 0}
	call := wasmtest.Join([]byte{0x20, 0}, wasmtest.Call(wasmtest.Self(0)), []byte{0x21, 0})
	return map[string]wasmtest.Module{
		// Each leaf is too small to be metered itself.
		"half a million leaves": {
			Start: wasmtest.Join(wasmtest.I32Const(500), []byte{0x21, 1, 0x03, 0x40}, repeat(1000, call),
				[]byte{0x20, 1}, wasmtest.I32Const(1), []byte{0x6b, 0x22, 1, 0x0d, 0, 0x0b}, park),
			Extra: wasmtest.Join(repeat(20, square), []byte{0x20, 0}), Locals: 1,
		},
		"straight code": {Start: wasmtest.Join(repeat(140_000, square), park)},
		"a long range": {
			Pages: 1000,
			Start: wasmtest.Join(
				wasmtest.I32Const(0), wasmtest.I32Const(1), wasmtest.I32Const(60<<20), []byte{0xfc, 11, 0}, park,
			),
		},
	}
}

// TestNoGuestKeepsTheHostWaiting counts how often guests call the host: at least once for each of
// the largest slices of their work. Only there can a garbage collection begin.
func TestNoGuestKeepsTheHostWaiting(t *testing.T) {
	t.Parallel()
	for name, m := range longGuests() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRuntime(t, wasm.Config{})
			i := instantiate(t, compile(t, r, m.Assemble()), wasm.World{})
			before := r.Stats().Refuels
			_, err := i.Start(context.Background(), nil)
			require.NoError(t, err)
			const largestSlice = 100_000
			calls := int64(r.Stats().Refuels - before)
			require.Greater(t, i.FuelUsed(), int64(100_000))
			require.GreaterOrEqual(t, calls, i.FuelUsed()/(largestSlice+10_000))
		})
	}
}

// TestFuelLimit gives guests less than they need. They end where they would on any host, for good.
func TestFuelLimit(t *testing.T) {
	t.Parallel()
	r := newRuntime(t, wasm.Config{})
	for name, content := range map[string][]byte{
		"an endless loop":   wasmtest.Module{Start: wasmtest.Join(wasmtest.Endless, wasmtest.I32Const(1))}.Assemble(),
		"endless recursion": wasmtest.Forking(),
	} {
		m := compile(t, r, content)
		var used []int64
		for range 3 {
			i := instantiate(t, m, wasm.World{Fuel: 1_000_000})
			_, err := i.Start(context.Background(), nil)
			trap := requireTrap(t, err, abi.CodeGuestTimeout)
			require.Contains(t, trap.Error(), "1000000 units", name)
			_, err = i.Start(context.Background(), nil)
			require.ErrorContains(t, err, "is dead", name)
			used = append(used, i.FuelUsed())
		}
		require.Greater(t, used[0], int64(1_000_000), name)
		require.Less(t, used[0], int64(1_010_000), name)
		require.Equal(t, []int64{used[0], used[0], used[0]}, used, name)
	}
}

// TestEveryCycleIsStopped runs loops whose heads do as little as there is.
func TestEveryCycleIsStopped(t *testing.T) {
	t.Parallel()
	r := newRuntime(t, wasm.Config{})
	for name, code := range map[string][]byte{
		"a branch":            {0x03, 0x40, 0x0c, 0, 0x0b},
		"a table of branches": {0x03, 0x40, 0x20, 0, 0x0e, 1, 0, 0, 0x0b},
		"a switch of nothing": {0x03, 0x40, 0x02, 0x40, 0x20, 0, 0x0e, 1, 0, 0, 0x0b, 0x0c, 0, 0x0b},
		"a switch of two": {
			0x03, 0x40, 0x02, 0x40, 0x02, 0x40, 0x20, 0, 0x0e, 1, 0, 1, 0x0b, 0x0c, 1, 0x0b, 0x0c, 0, 0x0b,
		},
		"a switch that falls out": {
			0x03, 0x40, 0x02, 0x40, 0x02, 0x40, 0x20, 0, 0x0e, 1, 0, 1, 0x0b, 0x0b, 0x0c, 0, 0x0b,
		},
		"a branch in an if":          {0x03, 0x40, 0x41, 1, 0x04, 0x40, 0x0c, 1, 0x0b, 0x0b},
		"a branch in an else":        {0x03, 0x40, 0x41, 0, 0x04, 0x40, 0x05, 0x0c, 1, 0x0b, 0x0b},
		"br_if":                      {0x03, 0x40, 0x41, 1, 0x0d, 0, 0x0b},
		"a branch to an outer loop":  {0x03, 0x40, 0x03, 0x40, 0x0c, 1, 0x0b, 0x0b},
		"a loop that is left":        {0x03, 0x40, 0x02, 0x40, 0x03, 0x40, 0x0c, 1, 0x0b, 0x0b, 0x0c, 0, 0x0b},
		"a loop in a loop, both end": {0x03, 0x40, 0x03, 0x40, 0x41, 0, 0x0d, 0, 0x0b, 0x41, 1, 0x0d, 0, 0x0b},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := compile(t, r, wasmtest.Module{Start: wasmtest.Join(code, wasmtest.I32Const(1))}.Assemble())
			_, err := instantiate(t, m, wasm.World{Fuel: 300_000}).Start(context.Background(), nil)
			requireTrap(t, err, abi.CodeGuestTimeout)
		})
	}
}

// TestFuelOfATurn: the use is a function of the module and its input: a reset, a mapped and an
// initialised instance use the same. The limit is per turn.
func TestFuelOfATurn(t *testing.T) {
	t.Parallel()
	var used []int64
	for _, way := range []wasm.Config{{}, {IdleInstances: -1}, {DisableImages: true}} {
		m := compile(t, newRuntime(t, cached(way)), probeBinary)
		for range 3 {
			i, err := m.Instantiate(context.Background(), fixedWorld(1))
			require.NoError(t, err)
			require.Zero(t, i.FuelUsed(), "initialisation does not count")
			_, err = i.Start(context.Background(), []byte("park"))
			require.NoError(t, err)
			first := i.FuelUsed()
			require.Positive(t, first)
			_, err = i.Resume(context.Background(), []byte("1"))
			require.NoError(t, err)
			used = append(used, first, i.FuelUsed())
			require.NoError(t, i.Close())
		}
	}
	for n := range used {
		require.Equal(t, used[n%2], used[n])
	}
	world := fixedWorld(1)
	world.Fuel = max(used[0], used[1]-used[0])
	i := instantiate(t, compile(t, newRuntime(t, cached(wasm.Config{})), probeBinary), world)
	_, err := i.Start(context.Background(), []byte("park"))
	require.NoError(t, err)
	_, err = i.Resume(context.Background(), []byte("1"))
	require.NoError(t, err)
}

// TestFuelIsOutOfReach: a guest can neither import the function that fills it up nor name it.
func TestFuelIsOutOfReach(t *testing.T) {
	t.Parallel()
	r := newRuntime(t, wasm.Config{})
	_, err := r.Compile(context.Background(), wasmtest.Module{
		Imports: []wasmtest.Import{{Module: "cruster:host", Name: "refuel", Type: wasmtest.TypeVoid}},
	}.Assemble())
	require.Equal(t, abi.CodeUnknownImport, abi.CodeOf(err), "%v", err)
	// It has no global, and the fuel counter would have this number.
	_, err = r.Compile(context.Background(), wasmtest.Module{Start: []byte{0x42, 0x7f, 0x24, 0, 0x41, 1}}.Assemble())
	require.Equal(t, abi.CodeNotWasm, abi.CodeOf(err), "%v", err)
}

// BenchmarkCollector measures how long stopping the world takes while a guest computes without a pause. "nothing" is
// the machine itself. A guest that chases pointers through memory that no cache holds is the slowest code that there
// is.
func BenchmarkCollector(b *testing.B) {
	guests := longGuests()
	guests["nothing"] = wasmtest.Module{}
	guests["cache misses"] = wasmtest.Module{
		Pages: 1000, Locals: 2,
		// at = (at * 1664525 + 1013904223) & (2^25 - 4); at ^= memory[at]: each waits for the one before.
		Start: wasmtest.Join(
			[]byte{0x03, 0x40, 0x20, 1}, wasmtest.I32Const(1664525), []byte{0x6c}, wasmtest.I32Const(1013904223),
			[]byte{0x6a},
			wasmtest.I32Const(1<<25-4), []byte{0x71, 0x22, 1, 0x28, 2, 0, 0x20, 1, 0x73, 0x21, 1},
			[]byte{0x20, 2}, wasmtest.I32Const(1), []byte{0x6a, 0x22, 2}, wasmtest.I32Const(2_000_000),
			[]byte{0x48, 0x0d, 0, 0x0b}, wasmtest.I32Const(abi.StatusParked),
		),
	}
	for name, m := range guests {
		b.Run(name, func(b *testing.B) {
			module := compile(b, newRuntime(b, wasm.Config{}), m.Assemble())
			slice := timeOfASlice(b, module)
			ctx, cancel := context.WithCancel(context.Background())
			done := make(chan struct{})
			go func() {
				defer close(done)
				for ctx.Err() == nil && name != "nothing" {
					i, err := module.Instantiate(context.Background(), wasm.World{})
					if err != nil {
						return
					}
					_, _ = i.Start(ctx, nil)
					_ = i.Close()
				}
			}()
			waits := stopTheWorld(b)
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(slice, "µs-slice")
			for name, at := range map[string]int{
				"µs-median": len(waits) / 2, "µs-p90": len(waits) * 9 / 10, "µs-longest": len(waits) - 1,
			} {
				b.ReportMetric(float64(waits[at].Nanoseconds())/1e3, name)
			}
			cancel()
			<-done
		})
	}
}

// timeOfASlice is how long a guest computes between two calls of the host, on average, in the fastest of some turns. On
// a machine that others use, stopping the world takes longer.
func timeOfASlice(b *testing.B, m *wasm.Module) float64 {
	b.Helper()
	fastest := time.Hour
	for range 30 {
		i := instantiate(b, m, wasm.World{})
		before, start := wasm.RefuelsOf(m), time.Now()
		_, err := i.Start(context.Background(), nil)
		require.NoError(b, err)
		if calls := wasm.RefuelsOf(m) - before; calls > 0 {
			fastest = min(fastest, time.Since(start)/time.Duration(calls))
		}
		require.NoError(b, i.Close())
	}
	return float64(fastest.Nanoseconds()) / 1e3
}

// stopTheWorld does it again and again, and returns how long it took, sorted.
func stopTheWorld(b *testing.B) (waits []time.Duration) {
	b.Helper()
	var stats runtime.MemStats
	for b.Loop() {
		start := time.Now()
		runtime.ReadMemStats(&stats)
		waits = append(waits, time.Since(start))
		time.Sleep(200 * time.Microsecond)
	}
	slices.Sort(waits)
	return waits
}
