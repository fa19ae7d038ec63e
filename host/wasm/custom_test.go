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

func TestCustomSectionsDoNotReachTheEngine(t *testing.T) {
	t.Parallel()
	r := newRuntime(t, wasm.Config{})
	custom := func(name string, content ...[]byte) []byte {
		return wasmtest.Section(0, wasmtest.Join(wasmtest.String(name), wasmtest.Join(content...)))
	}
	huge := wasmtest.U32(math.MaxUint32)
	for name, section := range map[string][]byte{
		"function names":                 custom("name", []byte{1}, wasmtest.U32(6), huge, []byte{0}),
		"local names":                    custom("name", []byte{2}, wasmtest.U32(6), huge, []byte{0}),
		"names of nothing":               custom("name", []byte{1}),
		"debug information":              custom(".debug_info", huge, huge),
		"debug lines":                    custom(".debug_line", huge),
		"no name":                        wasmtest.Section(0, nil),
		"a name longer than all":         wasmtest.Section(0, huge),
		"a size longer than the section": custom("name", []byte{1}, huge),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := compile(t, r, wasmtest.Join(wasmtest.Module{}.Assemble(), section))
			turn, err := instantiate(t, m, wasm.World{}).Start(context.Background(), nil)
			require.NoError(t, err)
			require.True(t, turn.Parked)
		})
	}
}

func TestBacktracesHaveNames(t *testing.T) {
	t.Parallel()
	names := wasmtest.Vector(wasmtest.Join(wasmtest.U32(2), wasmtest.String("the_culprit")))
	section := wasmtest.Section(0, wasmtest.Join(wasmtest.String("name"), []byte{1}, wasmtest.U32(len(names)), names))
	m := compile(
		t, newRuntime(t, wasm.Config{}),
		wasmtest.Join(wasmtest.Module{Start: wasmtest.Unreachable}.Assemble(), section),
	)
	_, err := instantiate(t, m, wasm.World{}).Start(context.Background(), nil)
	require.Contains(t, requireTrap(t, err, abi.CodeGuestTrap).Backtrace, "the_culprit")
}
