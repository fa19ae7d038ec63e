package wasm_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/wasm"
	"github.com/cruster/cruster/host/wasm/binary/wasmtest"
)

// recursing is a module whose turns recurse as deep as their input is long.
func recursing(t *testing.T) *wasm.Module {
	t.Helper()
	return compile(t, newRuntime(t, wasm.Config{}), recursingModule().Assemble())
}

func recursingModule() wasmtest.Module {
	localGet, self := []byte{0x20, 0}, wasmtest.Call(wasmtest.Self(0))
	return wasmtest.Module{
		Start: wasmtest.Join(localGet, self, wasmtest.I32Const(abi.StatusParked), []byte{0x6a}),
		Extra: wasmtest.Join(localGet, []byte{0x45, 0x04, 0x7f}, wasmtest.I32Const(0), []byte{0x05},
			// if it is 0 then 0, else itself of one less
			localGet, wasmtest.I32Const(1), []byte{0x6b}, self, []byte{0x0b}),
	}
}

// TestStacksOfMachinesAtRest has guests recurse as deep as their input is long. A machine keeps the
// stack of an ordinary call for the next guest, and not a deep one's.
func TestStacksOfMachinesAtRest(t *testing.T) {
	t.Parallel()
	m := recursing(t)
	recurse := func(depth int) int {
		i := instantiate(t, m, wasm.World{})
		turn, err := i.Start(context.Background(), make([]byte, depth))
		require.NoError(t, err)
		require.True(t, turn.Parked)
		require.NoError(t, i.Close())
		kept := wasm.KeptStacks(m)
		require.Len(t, kept, 1)
		return kept[0]
	}
	const first = 10 << 10 // of the engine
	require.Equal(t, first, recurse(10), "the engine does not show its stacks as it did")
	require.Equal(t, first, recurse(10))
	grown := recurse(400)
	require.Greater(t, grown, first)
	require.Equal(t, grown, recurse(10), "it is kept")
	require.Zero(t, recurse(100_000), "it has megabytes")
	require.Equal(t, first, recurse(10))
}

// TestStacksTakeMemory has a guest recurse until its stack has megabytes. That is memory of the host, and a guest for
// which there is none is stopped.
func TestStacksTakeMemory(t *testing.T) {
	t.Parallel()
	m := recursing(t)
	host := &memory{total: 1 << 30}
	world := wasm.World{Memory: host}
	turn, err := instantiate(t, m, world).Start(context.Background(), make([]byte, 100))
	require.NoError(t, err)
	require.True(t, turn.Parked)
	require.Zero(t, host.taken, "an ordinary call")
	i := instantiate(t, m, world)
	_, err = i.Start(context.Background(), make([]byte, 100_000))
	require.NoError(t, err)
	require.Greater(t, host.taken, int64(1<<20))

	for _, short := range []*memory{{total: 1 << 30, others: 1<<30 - 1}, {total: 1 << 20}} {
		i = instantiate(t, m, wasm.World{Memory: short})
		_, err = i.Start(context.Background(), make([]byte, 100_000))
		requireStarved(t, err, short.others == 0, "a deep recursion")
	}
}

// TestMemoryGrowsIntoThatOfStacks has a guest recurse in its first turn and grow its memory in the
// second. The stack is gone by then: the memory taken for it is enough.
func TestMemoryGrowsIntoThatOfStacks(t *testing.T) {
	t.Parallel()
	module := recursingModule()
	// memory.grow, drop
	module.Resume = wasmtest.Join(wasmtest.I32Const(16), []byte{0x40, 0, 0x1a}, wasmtest.I32Const(abi.StatusParked))
	m := compile(t, newRuntime(t, wasm.Config{}), module.Assemble())
	host := &memory{total: 1 << 30}
	i := instantiate(t, m, wasm.World{Memory: host})
	_, err := i.Start(context.Background(), make([]byte, 100_000))
	require.NoError(t, err)
	host.total = host.taken
	times := host.total / (16 * wasmPage)
	require.Positive(t, times)
	for range times {
		_, err = i.Resume(context.Background(), nil)
		require.NoError(t, err)
	}
	_, err = i.Resume(context.Background(), nil)
	requireStarved(t, err, true, "more than that")
}
