package wasm_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/wasm"
)

func TestDescribe(t *testing.T) {
	t.Parallel()
	m := compile(t, newRuntime(t, cached(wasm.Config{})), probeBinary)

	manifest, err := m.Describe(context.Background())
	require.NoError(t, err)
	require.Equal(t, "manifest", string(manifest))
	require.Equal(t, wasm.Digest(probeBinary), m.Digest())
	require.Contains(t, m.Imports(), "cruster.sleep")
	require.Contains(t, m.Imports(), "wasi_snapshot_preview1.random_get")
	require.NotContains(t, m.Imports(), "cruster.activity")
	require.IsIncreasing(t, m.Imports())
}

func TestStartParkResume(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	i := newProbe(t, wasm.World{})
	require.Positive(t, i.MemoryBytes())

	_, err := i.Resume(ctx, []byte("1"))
	require.ErrorContains(t, err, "not ready")

	turn, err := i.Start(ctx, []byte("park"))
	require.NoError(t, err)
	require.Equal(t, wasm.Turn{Parked: true}, turn)

	_, err = i.Start(ctx, []byte("park"))
	require.ErrorContains(t, err, "not ready")

	for _, n := range []string{"1", "20", "300"} {
		turn, err = i.Resume(ctx, []byte(n))
		require.NoError(t, err)
		require.True(t, turn.Parked)
	}
	turn, err = i.Resume(ctx, []byte("end"))
	require.NoError(t, err)
	require.Equal(t, wasm.Turn{Output: []byte("sum 321")}, turn)

	_, err = i.Resume(ctx, []byte("1"))
	require.ErrorContains(t, err, "not ready")
	require.NoError(t, i.Close())
	require.NoError(t, i.Close())
	require.Zero(t, i.MemoryBytes())
	_, err = i.Start(ctx, nil)
	require.ErrorContains(t, err, "closed")
}

func TestOps(t *testing.T) {
	t.Parallel()
	ctx := context.Background()

	t.Run("taken and cancelled", func(t *testing.T) {
		t.Parallel()
		var cancelled uint32
		i := newProbe(t, wasm.World{
			Op: func(kind string, body []byte) (uint32, *abi.Error) {
				require.Equal(t, abi.OpSleep, kind)
				require.Equal(t, "a while", string(body))
				return 7, nil
			},
			Cancel: func(op uint32) { cancelled = op },
		})
		turn, err := i.Start(ctx, []byte("op a while"))
		require.NoError(t, err)
		require.Equal(t, "op 7", string(turn.Output))
		require.EqualValues(t, 7, cancelled)
	})

	refusals := []struct {
		name, input string
		world       wasm.World
		code        abi.Code
	}{
		{"refused by the host", "op x", wasm.World{Op: func(string, []byte) (uint32, *abi.Error) {
			return 0, abi.Errorf(abi.CodeTooManyOps, "enough")
		}}, abi.CodeTooManyOps},
		{"not available", "op x", wasm.World{}, abi.CodeWrongContext},
		{"call not available", "call x", wasm.World{}, abi.CodeWrongContext},
		{"too large", "bigop", wasm.World{Op: func(string, []byte) (uint32, *abi.Error) {
			return 0, abi.Errorf(abi.CodeInternal, "asked in spite of its size")
		}}, abi.CodePayloadTooLarge},
		{"reply too large", "call x", wasm.World{Call: func(context.Context, string, []byte) ([]byte, *abi.Error) {
			return make([]byte, abi.MaxBody+1), nil
		}}, abi.CodePayloadTooLarge},
	}
	for _, c := range refusals {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			turn, err := newProbe(t, c.world).Start(ctx, []byte(c.input))
			require.NoError(t, err)
			var refusal abi.Error
			require.NoError(t, abi.Unmarshal(turn.Output, &refusal))
			require.Equal(t, c.code, refusal.Code)
		})
	}
}

func TestImmediateCalls(t *testing.T) {
	t.Parallel()
	type key struct{}
	ctx := context.WithValue(context.Background(), key{}, "the caller's")
	i := newProbe(t, wasm.World{Call: func(ctx context.Context, name string, body []byte) ([]byte, *abi.Error) {
		require.Equal(t, abi.ImportHTTP, name)
		require.Equal(t, "the caller's", ctx.Value(key{}))
		return append([]byte("re: "), body...), nil
	}})
	turn, err := i.Start(ctx, []byte("call hello"))
	require.NoError(t, err)
	require.Equal(t, "re: hello", string(turn.Output))
}

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

func TestEqualWorldsGiveEqualRuns(t *testing.T) {
	t.Parallel()
	m := compile(t, newRuntime(t, cached(wasm.Config{})), probeBinary)
	run := func(seed byte) string {
		turn, err := instantiate(t, m, fixedWorld(seed)).Start(context.Background(), []byte("chance"))
		require.NoError(t, err)
		return string(turn.Output)
	}
	first := run(1)
	for range 3 {
		require.Equal(t, first, run(1))
	}
	require.NotEqual(t, first, run(2))
}

func TestFailuresOfTheHostAreNotTheGuests(t *testing.T) {
	t.Parallel()
	worlds := map[string]wasm.World{
		"panic":           {Op: func(string, []byte) (uint32, *abi.Error) { panic("a bug") }},
		"impossible op":   {Op: func(string, []byte) (uint32, *abi.Error) { return 0, nil }},
		"panic in Cancel": {Op: func(string, []byte) (uint32, *abi.Error) { return 1, nil }, Cancel: func(uint32) { panic("a bug") }},
	}
	for name, world := range worlds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := newProbe(t, world).Start(context.Background(), []byte("op x"))
			require.Equal(t, abi.CodeInternal, abi.CodeOf(err))
			var trap *wasm.Trap
			require.False(t, errors.As(err, &trap))
		})
	}
}

func TestInputTooLarge(t *testing.T) {
	t.Parallel()
	i := newProbe(t, wasm.World{})
	_, err := i.Start(context.Background(), make([]byte, abi.MaxBody+1))
	require.Equal(t, abi.CodePayloadTooLarge, abi.CodeOf(err))

	// The instance was not touched.
	turn, err := i.Start(context.Background(), []byte("full"))
	require.NoError(t, err)
	require.Len(t, turn.Output, abi.MaxBody)
}

// Input of no bytes is taken without a look at where it is to go.
func TestEmptyInputNeedsNoPlace(t *testing.T) {
	t.Parallel()
	module := tiny{imports: []tinyImport{cruster(abi.ImportInput, typePtr)}, start: code(i32Const(-1), call(0), i32Const(1))}
	i := instantiate(t, compile(t, newRuntime(t, wasm.Config{}), module.assemble()), wasm.World{})
	turn, err := i.Start(context.Background(), nil)
	require.NoError(t, err)
	require.True(t, turn.Parked)
}
