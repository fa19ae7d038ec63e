package wasm_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/wasm"
	"github.com/cruster/cruster/host/wasm/binary/wasmtest"
)

func TestCompileCost(t *testing.T) {
	t.Parallel()
	small := wasmtest.Program{Manifest: &abi.Manifest{}}.Assemble()
	cost := wasm.CompileCost(small)
	require.Greater(t, cost, int64(20*len(small)+64<<10), "it counts bytes, functions and memory")
	large := wasmtest.Module{Pages: 10, Data: make([]byte, 100<<10)}.Assemble()
	require.Greater(t, wasm.CompileCost(large), int64(2<<20))
	require.EqualValues(t, 20*len("garbage"), wasm.CompileCost([]byte("garbage")))
}
