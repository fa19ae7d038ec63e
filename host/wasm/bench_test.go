package wasm_test

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/wasm"
)

// benchModules are the guests to measure. The orders example is there if CRUSTER_TEST_MODULES names a folder of modules
// that were built.
func benchModules(b *testing.B) map[string][]byte {
	b.Helper()
	modules := map[string][]byte{"probe": probeBinary}
	dir := os.Getenv("CRUSTER_TEST_MODULES")
	for name, file := range map[string]string{"go": "orders.wasm", "rust": "orders-rust.wasm"} {
		content, err := os.ReadFile(filepath.Join(dir, file))
		if err == nil {
			modules[name] = content
		}
	}
	return modules
}

// BenchmarkInstantiate makes and closes an instance: an initialised, a mapped, and a reset one.
func BenchmarkInstantiate(b *testing.B) {
	for name, content := range benchModules(b) {
		for way, cfg := range map[string]wasm.Config{
			"init": {DisableImages: true}, "mapped": {IdleInstances: -1}, "reset": {},
		} {
			b.Run(name+"/"+way, func(b *testing.B) {
				m := compile(b, newRuntime(b, cached(cfg)), content)
				require.NoError(b, instantiate(b, m, fixedWorld(1)).Close())
				b.ReportAllocs()
				for b.Loop() {
					i, err := m.Instantiate(context.Background(), fixedWorld(1))
					if err != nil {
						b.Fatal(err)
					}
					if err := i.Close(); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkActivity is a short call in an instance of its own: pages that a guest dirties and
// faults in again count, too.
func BenchmarkActivity(b *testing.B) {
	for name, content := range benchModules(b) {
		for way, cfg := range map[string]wasm.Config{
			"init": {DisableImages: true}, "mapped": {IdleInstances: -1}, "reset": {},
		} {
			b.Run(name+"/"+way, func(b *testing.B) {
				m := compile(b, newRuntime(b, cached(cfg)), content)
				input := abi.MustMarshal(&abi.Invocation{Kind: abi.InvokeActivity, Name: "none", Body: abi.Nil})
				b.ReportAllocs()
				for b.Loop() {
					i, err := m.Instantiate(context.Background(), fixedWorld(1))
					if err != nil {
						b.Fatal(err)
					}
					if _, err := i.Start(context.Background(), input); err != nil {
						b.Fatal(err)
					}
					_ = i.Close()
				}
			})
		}
	}
}

// BenchmarkResident measures the memory of an idle instance: fresh, and in the pool after a call.
func BenchmarkResident(b *testing.B) {
	const count = 200
	for name, content := range benchModules(b) {
		for _, state := range []string{"fresh", "pooled"} {
			b.Run(name+"/"+state, func(b *testing.B) {
				for b.Loop() {
					b.ReportMetric(float64(residentOf(b, content, state == "pooled", count))/count/1024, "KiB/instance")
				}
			})
		}
	}
}

// residentOf counts the bytes that come with instances which nothing ran in, or with those in a pool that something
// did.
func residentOf(b *testing.B, content []byte, pooled bool, count int) int64 {
	b.Helper()
	r, err := wasm.New(context.Background(), cached(wasm.Config{IdleInstances: count}))
	require.NoError(b, err)
	m := compile(b, r, content)
	_, err = m.Describe(context.Background())
	require.NoError(b, err)
	before := resident(b)
	instances := make([]*wasm.Instance, count)
	for n := range instances {
		instances[n], err = m.Instantiate(context.Background(), fixedWorld(byte(n)))
		require.NoError(b, err)
		if pooled {
			_, err := instances[n].Start(context.Background(), []byte("echo"))
			require.NoError(b, err)
		}
	}
	closeAll := func() {
		for _, i := range instances {
			require.NoError(b, i.Close())
		}
	}
	if pooled {
		closeAll()
	}
	after := resident(b)
	closeAll()
	require.NoError(b, r.Close(context.Background()))
	return after - before
}

// resident returns the private memory of the process, in bytes. The Go heap is cleaned before.
func resident(b *testing.B) (bytes int64) {
	b.Helper()
	debug.FreeOSMemory()
	if runtime.GOOS != "linux" {
		return 0 // it is counted on Linux only
	}
	rollup, err := os.ReadFile("/proc/self/smaps_rollup")
	require.NoError(b, err)
	for line := range strings.Lines(string(rollup)) {
		if kind, size, ok := strings.Cut(line, ":"); ok && kind == "Rss" {
			kib, err := strconv.ParseInt(strings.Fields(size)[0], 10, 64)
			require.NoError(b, err)
			bytes += kib << 10
		}
	}
	return bytes
}

// BenchmarkResume is one turn of a parked Go guest.
func BenchmarkResume(b *testing.B) {
	i := instantiate(b, compile(b, newRuntime(b, cached(wasm.Config{})), probeBinary), fixedWorld(1))
	_, err := i.Start(context.Background(), []byte("park"))
	require.NoError(b, err)
	b.ReportAllocs()
	for b.Loop() {
		_, err := i.Resume(context.Background(), []byte("1"))
		require.NoError(b, err)
	}
}
