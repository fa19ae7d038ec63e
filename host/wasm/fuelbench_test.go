package wasm_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/host/wasm"
	"github.com/cruster/cruster/host/wasm/binary/wasmtest"
)

// memoryLoop adds up a megabyte of memory, word by word, in as few instructions as there are: the loop on which a check
// costs most.
func memoryLoop() []byte {
	const pages = 16
	return wasmtest.Module{
		Pages: pages, Locals: 2,
		Resume: wasmtest.Join([]byte{
			0x03, 0x40, // loop
			0x20, 2, 0x20, 1, 0x28, 2, 0, 0x6a, 0x21, 2, // sum += memory[at]
			0x20, 1, 0x41, 4, 0x6a, 0x22, 1, // at += 4
		}, wasmtest.I32Const(pages<<16), []byte{0x48, 0x0d, 0, 0x0b}, wasmtest.I32Const(1)),
	}.Assemble()
}

// BenchmarkFuel measures the cost of fuel: code as it was uploaded, and metered. The two alternate, and the fastest
// turn of each counts: others use this machine, too. The guest in Rust is there if CRUSTER_TEST_MODULES names a folder
// of modules that were built.
func BenchmarkFuel(b *testing.B) {
	compute, err := buildGuest(b.TempDir(), "compute")
	require.NoError(b, err)
	guests := map[string][]byte{"go": compute, "memory": memoryLoop()}
	if rust, err := os.ReadFile(filepath.Join(os.Getenv("CRUSTER_TEST_MODULES"), "compute-rust.wasm")); err == nil {
		guests["rust"] = rust
	}
	for name, guest := range guests {
		r := newRuntime(b, cached(wasm.Config{}))
		free, err := r.CompileChanged(guest, func([]byte) []byte { return guest })
		require.NoError(b, err)
		metered, err := newRuntime(b, cached(wasm.Config{})).Compile(context.Background(), guest)
		require.NoError(b, err)
		programs := []string{"hash", "sort", "json"}
		if name == "memory" {
			programs = []string{"loop"}
		}
		for i, program := range programs {
			b.Run(name+"/"+program, func(b *testing.B) { compareFuel(b, free, metered, make([]byte, i+1)) })
		}
	}
}

func compareFuel(b *testing.B, free, metered *wasm.Module, input []byte) {
	b.Helper()
	instances := [2]*wasm.Instance{instantiate(b, free, fixedWorld(1)), instantiate(b, metered, fixedWorld(1))}
	fastest := [2]time.Duration{time.Hour, time.Hour}
	for _, i := range instances {
		_, err := i.Start(context.Background(), nil)
		require.NoError(b, err)
	}
	turns, before := 0, instances[1].FuelUsed()
	for b.Loop() {
		for n, i := range instances {
			start := time.Now()
			_, err := i.Resume(context.Background(), input)
			fastest[n] = min(fastest[n], time.Since(start))
			require.NoError(b, err)
		}
		turns++
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(fastest[0].Microseconds()), "µs-free")
	b.ReportMetric(float64(fastest[1].Microseconds()), "µs-metered")
	b.ReportMetric(100*float64(fastest[1]-fastest[0])/float64(fastest[0]), "%-more")
	b.ReportMetric(float64(instances[1].FuelUsed()-before)/float64(turns), "fuel/turn")
}
