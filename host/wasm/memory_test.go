package wasm_test

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/wasm"
)

// Every instance reserves as much address space as its limit. One that is closed,
// and one that died in the middle of a turn, must give it back.
func TestMemoryIsGivenBack(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Log("address space is counted on Linux only; elsewhere this test sees that nothing crashes")
	}
	const limit, instances = 4 << 30, 40
	m := compile(t, newRuntime(t, cached(wasm.Config{MemoryLimit: limit})), probeBinary)
	before := addressSpace(t)
	for range instances / 2 {
		i, err := m.Instantiate(context.Background(), fixedWorld(1))
		require.NoError(t, err)
		require.NoError(t, i.Close())

		i, err = m.Instantiate(context.Background(), fixedWorld(1))
		require.NoError(t, err)
		_, err = i.Start(context.Background(), []byte("exit"))
		requireTrap(t, err, abi.CodeGuestExit)
		require.Zero(t, i.MemoryBytes())
	}
	// Other tests run beside this one, with smaller limits.
	require.Less(t, addressSpace(t)-before, int64(limit)*instances/2)
}

func addressSpace(t *testing.T) int64 {
	t.Helper()
	if runtime.GOOS != "linux" {
		return 0
	}
	statm, err := os.ReadFile("/proc/self/statm")
	require.NoError(t, err)
	var pages int64
	_, err = fmt.Sscan(string(statm), &pages)
	require.NoError(t, err)
	return pages * int64(os.Getpagesize())
}
