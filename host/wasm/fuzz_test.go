package wasm_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/wasm"
	"github.com/cruster/cruster/host/wasm/binary/wasmtest"
)

// FuzzCompile uploads anything. Whatever it is, the answer is a module or an error with a code, and
// a module can be asked for its manifest and started.
func FuzzCompile(f *testing.F) {
	output := []wasmtest.Import{wasmtest.Cruster(abi.ImportOutput, wasmtest.TypePtrLen)}
	for _, seed := range []wasmtest.Module{
		{},
		{Pages: 3, Init: []byte{}},
		{Imports: output, Describe: wasmtest.Join(wasmtest.I32Const(0), wasmtest.I32Const(8), wasmtest.Call(0))},
		{
			Table: wasmtest.Vector([]byte{0x70, 0, 1}),
			Start: wasmtest.Join([]byte{0xd0, 0x70}, wasmtest.I32Const(1), []byte{0xfc, 0x0f, 0x00}),
		},
		{Init: []byte{0x01}, StartFunction: true},
		{
			Start: wasmtest.Join(wasmtest.I32Const(3), wasmtest.Call(wasmtest.Self(0))),
			Extra: wasmtest.Join([]byte{0x20, 0x00, 0x04, 0x40}, wasmtest.Endless, []byte{0x0b}, wasmtest.I32Const(1)),
		},
		{Start: wasmtest.GrowBomb},
	} {
		f.Add(seed.Assemble())
	}
	f.Add([]byte("\x00asm\x01\x00\x00\x00"))
	r := newRuntime(f, wasm.Config{MaxModuleSize: 64 << 10, MemoryLimit: 1 << 20, InitTimeout: 50 * time.Millisecond})

	f.Fuzz(func(t *testing.T, binary []byte) {
		ctx := context.Background()
		m, err := (*wasm.Module)(nil), r.Accept(binary)
		if err == nil {
			m, err = r.Compile(ctx, binary)
		}
		if err != nil {
			require.NotEmpty(t, abi.CodeOf(err), err)
			require.NotEqual(t, abi.CodeInternal, abi.CodeOf(err), err)
			requirePlain(t, err)
			return
		}
		defer r.Forget(m.Digest())
		if _, err := m.Describe(ctx); err != nil {
			require.NotEqual(t, abi.CodeInternal, abi.CodeOf(err), err)
			requirePlain(t, err)
		}
		i, err := m.Instantiate(ctx, wasm.World{})
		if err != nil {
			return
		}
		defer i.Close()
		bounded, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
		defer cancel()
		if _, err := i.Start(bounded, []byte("input")); err != nil {
			require.NotEqual(t, abi.CodeInternal, abi.CodeOf(err), err)
		}
	})
}
