package wasm_test

import (
	"context"
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/wasm"
	"github.com/cruster/cruster/host/wasm/binary/wasmtest"
)

func f32Const(bits uint32) []byte { return binary.LittleEndian.AppendUint32([]byte{0x43}, bits) }
func f64Const(bits uint64) []byte { return binary.LittleEndian.AppendUint64([]byte{0x44}, bits) }

// compute runs an expression and returns the bytes that it stores at address 16.
func compute(t *testing.T, r *wasm.Runtime, expression, store []byte, size int32) []byte {
	t.Helper()
	m := compile(t, r, wasmtest.Module{
		Imports: []wasmtest.Import{wasmtest.Cruster(abi.ImportOutput, wasmtest.TypePtrLen)},
		Start: wasmtest.Join(
			wasmtest.I32Const(16), expression, store, []byte{0, 0}, // alignment and offset
			wasmtest.I32Const(16), wasmtest.I32Const(size), wasmtest.Call(0), wasmtest.I32Const(0)),
	}.Assemble())
	turn, err := instantiate(t, m, wasm.World{}).Start(context.Background(), nil)
	require.NoError(t, err)
	require.Len(t, turn.Output, int(size))
	return turn.Output
}

// TestNaNsHaveOneForm computes NaNs in every way that there is. The processor chooses their bits: on amd64 the sign of
// 0/0 is set, and payloads of operands are kept. A guest sees the same bits everywhere.
func TestNaNsHaveOneForm(t *testing.T) {
	t.Parallel()
	r := newRuntime(t, wasm.Config{})
	const strange32, strange64 = 0xffc0_1234, 0xfff8_0000_0000_5678 // NaNs with a sign and a payload
	store32, store64, store128 := []byte{0x38}, []byte{0x39}, []byte{0xfd, 0x0b}
	one32, one64 := binary.LittleEndian.AppendUint32(nil, 0x7fc0_0000), binary.LittleEndian.AppendUint64(
		nil, 0x7ff8_0000_0000_0000,
	)
	for _, op := range []byte{0x8d, 0x8e, 0x8f, 0x90, 0x91} {
		require.Equal(t, one32, compute(t, r, wasmtest.Join(f32Const(strange32), []byte{op}), store32, 4), "%#x", op)
	}
	for _, op := range []byte{0x92, 0x93, 0x94, 0x95, 0x96, 0x97} {
		require.Equal(
			t, one32, compute(t, r, wasmtest.Join(f32Const(strange32), f32Const(0), []byte{op}), store32, 4), "%#x", op,
		)
	}
	for _, op := range []byte{0x9b, 0x9c, 0x9d, 0x9e, 0x9f} {
		require.Equal(t, one64, compute(t, r, wasmtest.Join(f64Const(strange64), []byte{op}), store64, 8), "%#x", op)
	}
	for _, op := range []byte{0xa0, 0xa1, 0xa2, 0xa3, 0xa4, 0xa5} {
		require.Equal(
			t, one64, compute(t, r, wasmtest.Join(f64Const(0), f64Const(strange64), []byte{op}), store64, 8), "%#x", op,
		)
	}
	require.Equal(t, one64, compute(t, r, wasmtest.Join(f64Const(0), f64Const(0), []byte{0xa3}), store64, 8), "0/0")
	require.Equal(
		t, one64, compute(t, r, wasmtest.Join(f64Const(math.Float64bits(-1)), []byte{0x9f}), store64, 8), "sqrt(-1)",
	)
	require.Equal(t, one32, compute(t, r, wasmtest.Join(f64Const(strange64), []byte{0xb6}), store32, 4), "demote")
	require.Equal(t, one64, compute(t, r, wasmtest.Join(f32Const(strange32), []byte{0xbb}), store64, 8), "promote")

	vector := func(lane []byte) []byte {
		out := []byte{0xfd, 0x0c}
		for len(out) < 18 {
			out = append(out, lane...)
		}
		return out
	}
	strange := map[int][]byte{
		4: binary.LittleEndian.AppendUint32(nil, strange32), 8: binary.LittleEndian.AppendUint64(nil, strange64),
	}
	want := map[int][]byte{4: vector(one32)[2:], 8: vector(one64)[2:]}
	for lane, ops := range map[int][]byte{
		4: {0xe4, 0xe5, 0xe6, 0xe7, 0xe8, 0xe9}, 8: {0xf0, 0xf1, 0xf2, 0xf3, 0xf4, 0xf5},
	} {
		for _, op := range ops {
			got := compute(
				t, r, wasmtest.Join(vector(strange[lane]), vector(make([]byte, 4)), []byte{0xfd, op, 0x01}), store128,
				16,
			)
			require.Equal(t, want[lane], got, "%#x", op)
		}
	}
	for lane, ops := range map[int][]byte{4: {0x67, 0x68, 0x69, 0x6a, 0xe3}, 8: {0x74, 0x75, 0x7a, 0x94, 0xef}} {
		for _, op := range ops {
			code := []byte{0xfd, op}
			if op >= 0x80 {
				code = append(code, 0x01)
			}
			require.Equal(
				t, want[lane], compute(t, r, wasmtest.Join(vector(strange[lane]), code), store128, 16), "%#x", op,
			)
		}
	}
}

// TestNumbersStayAsTheyAre shows that numbers are not touched, nor are bits that no arithmetic has
// made.
func TestNumbersStayAsTheyAre(t *testing.T) {
	t.Parallel()
	r := newRuntime(t, wasm.Config{})
	f64 := func(v float64) []byte { return f64Const(math.Float64bits(v)) }
	for want, expression := range map[float64][]byte{
		0.30000000000000004: wasmtest.Join(f64(0.1), f64(0.2), []byte{0xa0}),
		math.Inf(-1):        wasmtest.Join(f64(-1), f64(0), []byte{0xa3}),
		2.5:                 wasmtest.Join(f64(6.25), []byte{0x9f}),
		-3:                  wasmtest.Join(f64(-2.5), []byte{0x9c}),
	} {
		got := compute(t, r, expression, []byte{0x39}, 8)
		require.Equal(t, math.Float64bits(want), binary.LittleEndian.Uint64(got), "%v", want)
	}
	negativeZero := compute(t, r, wasmtest.Join(f64Const(1<<63), f64Const(1<<63), []byte{0xa0}), []byte{0x39}, 8)
	require.Equal(t, uint64(1<<63), binary.LittleEndian.Uint64(negativeZero))
	const payload = 0xfff8_0000_0000_5678
	for name, expression := range map[string][]byte{
		"stored": f64Const(payload), "abs of neg": wasmtest.Join(f64Const(payload), []byte{0x9a, 0x99}),
	} {
		got := binary.LittleEndian.Uint64(compute(t, r, expression, []byte{0x39}, 8))
		require.Equal(t, uint64(payload)&^(1<<63), got&^(1<<63), name)
	}
}
