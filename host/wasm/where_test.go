package wasm_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/wasm"
)

// probeLine is the line of the probe that has a mark.
func probeLine(t *testing.T, mark string) string {
	t.Helper()
	return lineIn(t, "probe/main.go", mark)
}

// lineIn is the line of a guest's file that has a mark.
func lineIn(t *testing.T, file, mark string) string {
	t.Helper()
	source, err := os.ReadFile("testdata/guests/" + file)
	require.NoError(t, err)
	before, _, ok := bytes.Cut(source, []byte(`// line "`+mark+`"`))
	require.True(t, ok, mark)
	return fmt.Sprintf("%s:%d", file, 1+bytes.Count(before, []byte("\n")))
}

// TestAStoppedGoGuestShowsWhereItWas: by fuel and by time, though the module carries no names. Its
// time ends once it says that it is there: it asks for fuel in the loop next, and nowhere before.
func TestAStoppedGoGuestShowsWhereItWas(t *testing.T) {
	t.Parallel()
	m := compile(t, newRuntime(t, cached(wasm.Config{})), probeBinary)
	where := fmt.Sprintf(
		" (in main.endless (%s) < main.tally (%s) < main.init.func", probeLine(t, "endless"), probeLine(t, "tally"),
	)
	ctx, end := context.WithCancelCause(context.Background())
	defer end(nil)
	for name, stop := range map[string]struct {
		ctx   context.Context
		world wasm.World
	}{
		"fuel": {context.Background(), wasm.World{Fuel: 5_000_000}},
		"time": {ctx, wasm.World{Log: func(int32, []byte) { end(context.DeadlineExceeded) }}},
	} {
		_, err := instantiate(t, m, stop.world).Start(stop.ctx, []byte("count"))
		trap := requireTrap(t, err, abi.CodeGuestTimeout)
		require.Contains(t, trap.Err.Message, where, name)
		require.Contains(t, trap.Err.Message, probeLine(t, "call"), name)
	}
}

// TestAGoGuestThatBlocksUntilItsDeadlineShowsWhere: its goroutines wait, and none of them runs.
func TestAGoGuestThatBlocksUntilItsDeadlineShowsWhere(t *testing.T) {
	t.Parallel()
	m := compile(t, newRuntime(t, cached(wasm.Config{})), probeBinary)
	for _, name := range []string{"nap", "alarm"} {
		ctx, end := context.WithCancelCause(context.Background())
		defer end(nil)
		_, err := instantiate(t, m, wasm.World{
			Sleep: func(ctx context.Context, _ time.Duration) error {
				end(context.DeadlineExceeded)
				return ctx.Err()
			},
			Stderr: func(line []byte) { t.Errorf("the report went to the log: %s", line) },
		}).Start(ctx, []byte(name))
		trap := requireTrap(t, err, abi.CodeGuestTimeout)
		require.Contains(t, trap.Place, ": goroutine ", name)
		require.Contains(t, trap.Place, " at "+probeLine(t, name), name)
		require.Contains(t, trap.Err.Message, "blocked until its deadline and was stopped"+trap.Place, name)
	}
}

// TestAGoGuestStoppedInItsRecursionShowsWhere: whether it computes, or the runtime makes its stack larger.
func TestAGoGuestStoppedInItsRecursionShowsWhere(t *testing.T) {
	t.Parallel()
	m := compile(t, newRuntime(t, cached(wasm.Config{})), probeBinary)
	deeper := "main.deeper (" + probeLine(t, "deeper") + ")"
	for fuel := int64(1_000_000); fuel < 40_000_000; fuel += fuel / 20 {
		_, err := instantiate(t, m, wasm.World{Fuel: fuel}).Start(context.Background(), []byte("recurse"))
		trap := requireTrap(t, err, abi.CodeGuestTimeout)
		require.Regexp(t, `^ \(in main\.deeper \(probe/main\.go:`, trap.Place, fuel)
		require.NotContains(t, trap.Place, deeper+" < "+deeper)
	}
}
