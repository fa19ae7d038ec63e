package wasm_test

import (
	"bytes"
	"context"
	"testing"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/wasm"
	"github.com/cruster/cruster/host/wasm/binary/wasmtest"
)

// TestLongWaysWithoutALoop is about guests that never pass a loop head of their own: each would compute for minutes or
// hours on a fast machine, and while native code runs no garbage collection of the host begins.
func TestLongWaysWithoutALoop(t *testing.T) {
	t.Parallel()
	const pages = 1000
	const most = 60 << 20
	repeat := func(n int, parts ...[]byte) []byte { return bytes.Repeat(wasmtest.Join(parts...), n) }
	drop, park := []byte{0x1a}, wasmtest.I32Const(abi.StatusParked)
	fill := wasmtest.Join(wasmtest.I32Const(0), wasmtest.I32Const(1), wasmtest.I32Const(most), []byte{0xfc, 11, 0})
	// Each leaf is bounded by its size; a way through many of them is not.
	square := repeat(100_000, []byte{0x20, 0, 0x20, 0, 0x6c, 0x21, 0})
	table := []byte{1, 0x70, 0, 0x80, 0x80, 0x08}
	often := wasmtest.Join(repeat(1000, []byte{0x20, 0}, wasmtest.Call(wasmtest.Self(0)), drop), park)
	for name, m := range map[string]wasmtest.Module{
		"memory.fill": {Pages: pages, Start: wasmtest.Join(repeat(2000, fill), park)},
		"memory.copy": {
			Pages: pages,
			Start: wasmtest.Join(
				repeat(2000, wasmtest.I32Const(0), wasmtest.I32Const(64), wasmtest.I32Const(most), []byte{
					0xfc, 10, 0, 0,
				}),
				park,
			),
		},
		"table.fill": {
			Table: table, Start: often,
			Extra: wasmtest.Join(
				repeat(1000, wasmtest.I32Const(0), []byte{0xd0, 0x70}, wasmtest.I32Const(1<<17), []byte{0xfc, 17, 0}),
				[]byte{0x20, 0},
			),
		},
		"table.copy": {
			Table: table, Start: often,
			Extra: wasmtest.Join(
				repeat(1000, wasmtest.I32Const(0), wasmtest.I32Const(1), wasmtest.I32Const(1<<17-1), []byte{
					0xfc, 14, 0, 0,
				}),
				[]byte{0x20, 0},
			),
		},
		"calls of a long leaf": {
			Start: wasmtest.Join(repeat(150_000, []byte{0x20, 0}, wasmtest.Call(wasmtest.Self(0)), drop), park),
			Extra: wasmtest.Join(square, []byte{0x20, 0}),
		},
		"random_get": {
			Pages: pages, Imports: []wasmtest.Import{wasmtest.WASI("random_get", wasmtest.TypeOp)},
			Start: wasmtest.Join(
				repeat(20_000, wasmtest.I32Const(0), wasmtest.I32Const(most), wasmtest.Call(0), drop), park,
			),
		},
		// A million vectors of 16 MiB each, in one call.
		"fd_write": {
			Pages: pages, Imports: []wasmtest.Import{wasmtest.WASI("fd_write", wasmtest.TypeFour)},
			Start: wasmtest.Join(
				fill, wasmtest.I32Const(1), wasmtest.I32Const(0), wasmtest.I32Const(1_000_000), wasmtest.I32Const(most),
				wasmtest.Call(0), drop, park,
			),
		},
		"op": {
			Pages: pages, Imports: []wasmtest.Import{wasmtest.Cruster(abi.OpSleep, wasmtest.TypeOp)},
			Start: wasmtest.Join(
				repeat(20_000, wasmtest.I32Const(0), wasmtest.I32Const(abi.MaxBody), wasmtest.Call(0), drop), park,
			),
		},
		"log": {
			Pages: pages, Imports: []wasmtest.Import{wasmtest.Cruster(abi.ImportLog, wasmtest.TypeLog)},
			Start: wasmtest.Join(
				repeat(60_000, wasmtest.I32Const(0), wasmtest.I32Const(0), wasmtest.I32Const(most), wasmtest.Call(0)),
				park,
			),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			i := instantiate(t, compile(t, newRuntime(t, wasm.Config{}), m.Assemble()), wasm.World{
				Log: func(int32, []byte) {},
				Op: func(string, []byte) (uint32, *abi.Error) {
					return 0, abi.Errorf(abi.CodeTooManyOps, "no more")
				},
			})
			requireTrap(t, untilItBegins(func(ctx context.Context) error {
				_, err := i.Start(ctx, nil)
				return err
			}), abi.CodeGuestTimeout)
		})
	}
}
