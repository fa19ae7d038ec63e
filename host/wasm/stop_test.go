package wasm_test

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/wasm"
)

// TestLongWaysWithoutALoop is about guests that never pass a loop head of their
// own: each would compute for minutes or hours on a fast machine, and while
// native code runs no garbage collection of the host begins.
func TestLongWaysWithoutALoop(t *testing.T) {
	t.Parallel()
	const pages = 1000
	const most = 60 << 20
	repeat := func(n int, parts ...[]byte) []byte { return bytes.Repeat(code(parts...), n) }
	drop, park := []byte{0x1a}, i32Const(abi.StatusParked)
	fill := code(i32Const(0), i32Const(1), i32Const(most), []byte{0xfc, 11, 0})
	wasi := func(name string, typ byte) tinyImport {
		return tinyImport{"wasi_snapshot_preview1", name, typ}
	}
	// Each leaf is bounded by its size; a way through many of them is not.
	square := repeat(100_000, []byte{0x20, 0, 0x20, 0, 0x6c, 0x21, 0})
	table := []byte{1, 0x70, 0, 0x80, 0x80, 0x08}
	often := code(repeat(1000, []byte{0x20, 0}, call(self(0)), drop), park)
	for name, m := range map[string]tiny{
		"memory.fill": {pages: pages, start: code(repeat(2000, fill), park)},
		"memory.copy": {pages: pages, start: code(repeat(2000, i32Const(0), i32Const(64), i32Const(most), []byte{0xfc, 10, 0, 0}), park)},
		"table.fill": {table: table, start: often,
			extra: code(repeat(1000, i32Const(0), []byte{0xd0, 0x70}, i32Const(1<<17), []byte{0xfc, 17, 0}), []byte{0x20, 0})},
		"table.copy": {table: table, start: often,
			extra: code(repeat(1000, i32Const(0), i32Const(1), i32Const(1<<17-1), []byte{0xfc, 14, 0, 0}), []byte{0x20, 0})},
		"calls of a long leaf": {extra: code(square, []byte{0x20, 0}), start: code(repeat(150_000, []byte{0x20, 0}, call(self(0)), drop), park)},
		"random_get": {pages: pages, imports: []tinyImport{wasi("random_get", typeOp)},
			start: code(repeat(20_000, i32Const(0), i32Const(most), call(0), drop), park)},
		// A million vectors of 16 MiB each, in one call.
		"fd_write": {pages: pages, imports: []tinyImport{wasi("fd_write", typeFour)},
			start: code(fill, i32Const(1), i32Const(0), i32Const(1_000_000), i32Const(most), call(0), drop, park)},
		"op": {pages: pages, imports: []tinyImport{cruster(abi.OpSleep, typeOp)},
			start: code(repeat(20_000, i32Const(0), i32Const(abi.MaxBody), call(0), drop), park)},
		"log": {pages: pages, imports: []tinyImport{cruster(abi.ImportLog, typeLog)},
			start: code(repeat(60_000, i32Const(0), i32Const(0), i32Const(most), call(0)), park)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			i := instantiate(t, compile(t, newRuntime(t, wasm.Config{}), m.assemble()), wasm.World{
				Log: func(int32, []byte) {},
				Op: func(string, []byte) (uint32, *abi.Error) {
					return 0, abi.Errorf(abi.CodeTooManyOps, "no more")
				},
			})
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
			defer cancel()
			_, err := i.Start(ctx, nil)
			requireTrap(t, err, abi.CodeGuestTimeout)
		})
	}
}

// TestFunctionsThatTakeLongToCompile: the engine's work grows with the square of
// what these have many of.
func TestFunctionsThatTakeLongToCompile(t *testing.T) {
	t.Parallel()
	r := newRuntime(t, wasm.Config{})
	branch := []byte{0x20, 0, 0x04, 0x40, 0x0b} // if end
	table := code([]byte{0x20, 0, 0x0e}, leb(30_000), make([]byte, 30_001))
	for name, m := range map[string]tiny{
		"branches":             {start: code(bytes.Repeat(branch, 60_000), i32Const(1))},
		"loops":                {start: code(bytes.Repeat([]byte{0x03, 0x40, 0x0b}, 60_000), i32Const(1))},
		"a table of branches":  {start: code(i32Const(1), table)},
		"ranges":               {start: code(bytes.Repeat(code(i32Const(0), i32Const(1), i32Const(1), []byte{0xfc, 11, 0}), 60_000), i32Const(1))},
		"branches and locals":  {locals: 40_000, start: code(bytes.Repeat(branch, 5000), i32Const(1))},
		"a function too large": {start: code(bytes.Repeat([]byte{0x01}, 2<<20), i32Const(1))},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := r.Compile(context.Background(), m.assemble())
			require.Equal(t, abi.CodeNotWasm, abi.CodeOf(err), "%v", err)
			requirePlain(t, err)
		})
	}
}
