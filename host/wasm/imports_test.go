package wasm_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/wasm"
	"github.com/cruster/cruster/host/wasm/binary/wasmtest"
)

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
			require.NotErrorAs(t, err, &trap)
		})
	}
}

// The pointer of an empty input is not checked.
func TestEmptyInputMayHaveAnyPointer(t *testing.T) {
	t.Parallel()
	module := wasmtest.Module{
		Imports: []wasmtest.Import{wasmtest.Cruster(abi.ImportInput, wasmtest.TypePtr)},
		Start:   wasmtest.Join(wasmtest.I32Const(-1), wasmtest.Call(0), wasmtest.I32Const(1)),
	}
	i := instantiate(t, compile(t, newRuntime(t, wasm.Config{}), module.Assemble()), wasm.World{})
	turn, err := i.Start(context.Background(), nil)
	require.NoError(t, err)
	require.True(t, turn.Parked)
}
