package wasm_test

import (
	"context"
	"encoding/binary"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/wasm"
	"github.com/cruster/cruster/host/wasm/binary/wasmtest"
)

// TestABlockedGuestIsQuiet: Go's report about its end, when it may not block, is for the host alone.
func TestABlockedGuestIsQuiet(t *testing.T) {
	t.Parallel()
	m := compile(t, newRuntime(t, cached(wasm.Config{})), probeBinary)
	for _, input := range []string{"nap", "blink", "alarm"} {
		var lines []string
		_, err := instantiate(t, m, wasm.World{
			Stderr: func(line []byte) { lines = append(lines, string(line)) },
		}).Start(context.Background(), []byte(input))
		trap := requireTrap(t, err, abi.CodeBlockingSleep)
		require.Empty(t, trap.Stderr)
		require.Empty(t, lines)
	}
}

// TestABlockedGuestDiesOfIt has so little fuel that the guest cannot write its report: it is refused all the same.
func TestABlockedGuestDiesOfIt(t *testing.T) {
	t.Parallel()
	m := compile(t, newRuntime(t, cached(wasm.Config{})), probeBinary)
	for fuel := int64(10_000); ; fuel *= 2 {
		_, err := instantiate(t, m, wasm.World{Fuel: fuel}).Start(context.Background(), []byte("nap"))
		if abi.CodeOf(err) == abi.CodeGuestTimeout {
			continue // it did not come as far
		}
		requireTrap(t, err, abi.CodeBlockingSleep)
		return
	}
}

// TestARefusalCountsBeforeTheFirstTurn has modules that look like Go's, and go on when they were refused to block.
func TestARefusalCountsBeforeTheFirstTurn(t *testing.T) {
	t.Parallel()
	const subscription, timeout, table, end = 0, 24, 64, 256
	data := make([]byte, end)
	binary.LittleEndian.PutUint64(data[subscription+timeout:], uint64(time.Hour))
	copy(data[table:], "\xf1\xff\xff\xff\x00\x00\x01\x08\x01") // with one function
	drop := []byte{0x1a}
	block := wasmtest.Join(
		wasmtest.I32Const(subscription), wasmtest.I32Const(end), wasmtest.I32Const(1), wasmtest.I32Const(end+64),
		wasmtest.Call(0), drop,
	)
	output := wasmtest.Join(wasmtest.I32Const(0), wasmtest.I32Const(1), wasmtest.Call(1))
	for _, c := range []struct {
		where string
		guest wasmtest.Module
	}{
		{"_initialize", wasmtest.Module{Init: block}},
		{"its start function", wasmtest.Module{Init: block, StartFunction: true}},
		{"cruster_abi", wasmtest.Module{ABI: wasmtest.Join(block, wasmtest.I32Const(abi.Version))}},
		{"cruster_abi", wasmtest.Module{ABI: wasmtest.Join(block, wasmtest.I32Const(abi.Version+1))}},
		{"cruster_describe", wasmtest.Module{Describe: wasmtest.Join(block, output)}},
		{"cruster_describe", wasmtest.Module{Describe: block}},
	} {
		guest := c.guest
		guest.Imports = []wasmtest.Import{
			wasmtest.WASI("poll_oneoff", wasmtest.TypeFour), wasmtest.Cruster(abi.ImportOutput, wasmtest.TypePtrLen),
		}
		guest.Pages, guest.Data = 1, data
		_, err := compile(t, newRuntime(t, cached(wasm.Config{})), guest.Assemble()).Describe(context.Background())
		trap := requireTrap(t, err, abi.CodeModuleInit)
		require.Equal(t, "the module failed in "+c.where+": the module tried to block for 1h0m0s", trap.Err.Message)
	}
}
