package wasm_test

import (
	"bytes"
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/host/wasm"
)

// keepNaNs takes out the rewriter's additions behind instructions that can make a NaN (local.tee,
// const, local.get, local.get, eq, select), and counts the places.
func keepNaNs(rewritten []byte) (kept []byte, places int) {
	kept = bytes.Clone(rewritten)
	for _, form := range []struct{ nan, choose []byte }{
		{f32Const(0x7fc0_0000), []byte{0x5b, 0x1b}},
		{f64Const(0x7ff8_0000_0000_0000), []byte{0x61, 0x1b}},
	} {
		for at := 3; ; at++ {
			next := bytes.Index(kept[at:], form.nan)
			if next < 0 {
				break
			}
			at += next
			for digits := 1; digits <= 2; digits++ {
				local := kept[at-digits : at]
				code := slices.Concat(
					[]byte{0x22}, local, form.nan, []byte{0x20}, local, []byte{0x20}, local, form.choose,
				)
				if from := at - digits - 1; bytes.HasPrefix(kept[from:], code) {
					copy(kept[from:], bytes.Repeat([]byte{0x01}, len(code))) // nop
					places++
				}
			}
		}
	}
	return kept, places
}

// BenchmarkNaNs computes with floating-point numbers: as guests do, with the NaNs that they compute replaced, and with
// instructions that do nothing instead.
func BenchmarkNaNs(b *testing.B) {
	guest, err := buildGuest(b.TempDir(), "floats")
	require.NoError(b, err)
	for _, variant := range []struct {
		name   string
		change func(rewritten []byte) []byte
	}{
		{"replaced", func(rewritten []byte) []byte { return rewritten }},
		{"kept", func(rewritten []byte) []byte {
			kept, places := keepNaNs(rewritten)
			require.Greater(b, places, 20)
			return kept
		}},
	} {
		m, err := newRuntime(b, wasm.Config{}).CompileChanged(guest, variant.change)
		require.NoError(b, err)
		for i, program := range []string{"matrices", "matrices of 32 bits", "orbit"} {
			b.Run(program+"/"+variant.name, func(b *testing.B) {
				inst := instantiate(b, m, fixedWorld(1))
				_, err := inst.Start(context.Background(), nil)
				require.NoError(b, err)
				for b.Loop() {
					_, err := inst.Resume(context.Background(), make([]byte, i+1))
					require.NoError(b, err)
				}
			})
		}
	}
}
