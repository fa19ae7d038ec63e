package wasm_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/wasm"
	"github.com/cruster/cruster/host/wasm/binary/wasmtest"
)

// TestStacksOfMachinesAtRest has guests recurse as deep as their input is long. A machine
// keeps the stack of an ordinary call for the next guest, and not that of a deep one.
func TestStacksOfMachinesAtRest(t *testing.T) {
	t.Parallel()
	localGet, self := []byte{0x20, 0}, wasmtest.Call(wasmtest.Self(0))
	m := compile(t, newRuntime(t, wasm.Config{}), wasmtest.Module{
		Start: wasmtest.Join(localGet, self, wasmtest.I32Const(abi.StatusParked), []byte{0x6a}),
		Extra: wasmtest.Join(localGet, []byte{0x45, 0x04, 0x7f}, wasmtest.I32Const(0), []byte{0x05},
			localGet, wasmtest.I32Const(1), []byte{0x6b}, self, []byte{0x0b}), // if it is 0 then 0, else itself of one less
	}.Assemble())
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
