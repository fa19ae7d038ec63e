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

func TestStreams(t *testing.T) {
	t.Parallel()
	var out, stderr []string
	var level int32
	var message string
	i := newProbe(t, wasm.World{
		Log:    func(l int32, m []byte) { level, message = l, string(m) },
		Stdout: func(line []byte) { out = append(out, string(line)) },
		Stderr: func(line []byte) { stderr = append(stderr, string(line)) },
	})
	_, err := i.Start(context.Background(), []byte("log take note"))
	require.NoError(t, err)
	require.Equal(t, []string{"out one", "out two", "no end"}, out)
	require.Equal(t, []string{"err one"}, stderr)
	require.Equal(t, abi.LogWarn, level)
	require.Equal(t, "take note", message)
}

// TestWhatFailsBecauseTimeIsUpFailsTheTurn: a guest whose time is up while it writes or draws random numbers does not
// go on as if that had failed: on replay it would not fail.
func TestWhatFailsBecauseTimeIsUpFailsTheTurn(t *testing.T) {
	t.Parallel()
	write := wasmtest.Join(
		wasmtest.I32Const(1), wasmtest.I32Const(0), wasmtest.I32Const(1), wasmtest.I32Const(16), wasmtest.Call(0),
		[]byte{0x1a},
	)
	draw := wasmtest.Join(wasmtest.I32Const(32), wasmtest.I32Const(4), wasmtest.Call(1), []byte{0x1a})
	for name, then := range map[string][]byte{"write": write, "draw": draw} {
		ctx, cancel := context.WithCancel(t.Context())
		world := fixedWorld(0)
		world.Stdout = func([]byte) { cancel() }
		m := compile(t, newRuntime(t, wasm.Config{}), wasmtest.Module{
			Imports: []wasmtest.Import{
				wasmtest.WASI("fd_write", wasmtest.TypeFour), wasmtest.WASI("random_get", wasmtest.TypeOp),
			},
			Data:  []byte{8, 0, 0, 0, 2, 0, 0, 0, 'x', '\n'}, // a vector, and its content
			Start: wasmtest.Join(write, then, wasmtest.I32Const(abi.StatusParked)),
		}.Assemble())
		i := instantiate(t, m, world)
		_, err := i.Start(ctx, nil)
		require.Equal(t, abi.CodeGuestTimeout, abi.CodeOf(err), "%s: %v", name, err)
		require.Error(t, ctx.Err())
	}
}

func TestSleepOfTheWorld(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_700_000_000, 0)
	i := newProbe(t, wasm.World{
		Clock: func() time.Time { return now },
		Sleep: func(_ context.Context, d time.Duration) error {
			now = now.Add(d)
			return nil
		},
	})
	turn, err := i.Start(context.Background(), []byte("nap"))
	require.NoError(t, err)
	require.Equal(t, "slept", string(turn.Output))
	require.Equal(t, time.Unix(1_700_000_001, 0), now)
}

func TestAnOrdinaryProgramDoesNotBlock(t *testing.T) {
	t.Parallel()
	turn, err := newProbe(t, wasm.World{}).Start(context.Background(), []byte("churn"))
	require.NoError(t, err)
	require.Equal(t, "16000000", string(turn.Output))
}
