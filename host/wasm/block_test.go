package wasm_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/wasm"
)

// TestABlockedGuestIsQuiet: what Go writes about its end, when it may not block, is for the host alone.
func TestABlockedGuestIsQuiet(t *testing.T) {
	t.Parallel()
	m := compile(t, newRuntime(t, cached(wasm.Config{})), probeBinary)
	for _, input := range []string{"nap", "blink", "alarm"} {
		var lines []string
		_, err := instantiate(t, m, wasm.World{Stderr: func(line []byte) { lines = append(lines, string(line)) }}).Start(context.Background(), []byte(input))
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
