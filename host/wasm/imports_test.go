package wasm_test

import (
	"context"
	"math"
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

// TestOperation: a guest reports which operation it begins, and may have its fuel begin anew.
func TestOperation(t *testing.T) {
	t.Parallel()
	work := wasmtest.Join(
		wasmtest.I32Const(100_000), []byte{0x21, 1, 0x03, 0x40, 0x20, 1}, wasmtest.I32Const(1),
		[]byte{0x6b, 0x22, 1, 0x0d, 0, 0x0b},
	)
	report := func(index int32) []byte {
		return wasmtest.Join(wasmtest.I32Const(index), wasmtest.Call(0), []byte{0x1a})
	}
	module := wasmtest.Module{
		Imports: []wasmtest.Import{wasmtest.Cruster(abi.ImportOperation, wasmtest.TypeTurn)},
		Start:   wasmtest.Join(report(0), work, report(-1), work, wasmtest.I32Const(abi.StatusParked)),
		Locals:  1,
	}
	m := compile(t, newRuntime(t, wasm.Config{}), module.Assemble())
	whole := instantiate(t, m, wasm.World{})
	_, err := whole.Start(context.Background(), nil)
	require.NoError(t, err)
	fuel := whole.FuelUsed() * 2 / 3
	for name, c := range map[string]struct {
		operation func(uint32) (bool, *abi.Error)
		want      abi.Code
	}{
		"anew": {operation: func(uint32) (bool, *abi.Error) { return true, nil }},
		"once": {
			operation: func(index uint32) (bool, *abi.Error) { return index == 0, nil }, want: abi.CodeGuestTimeout,
		},
		"refused": {operation: func(index uint32) (bool, *abi.Error) {
			return true, abi.Errorf(abi.CodeBadBody, "there is no operation %d", index)
		}, want: abi.CodeGuestTimeout},
		"not available": {want: abi.CodeGuestTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var seen []uint32
			world := wasm.World{Fuel: fuel}
			if c.operation != nil {
				world.Operation = func(index uint32) (bool, *abi.Error) {
					seen = append(seen, index)
					return c.operation(index)
				}
			}
			_, err := instantiate(t, m, world).Start(context.Background(), nil)
			require.Equal(t, c.want, abi.CodeOf(err))
			if c.operation != nil {
				require.Equal(t, []uint32{0, math.MaxUint32}, seen)
			}
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
		"panic":         {Op: func(string, []byte) (uint32, *abi.Error) { panic("a bug") }},
		"impossible op": {Op: func(string, []byte) (uint32, *abi.Error) { return 0, nil }},
		"panic in Cancel": {
			Op: func(string, []byte) (uint32, *abi.Error) { return 1, nil }, Cancel: func(uint32) { panic("a bug") },
		},
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
