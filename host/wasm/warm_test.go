package wasm_test

import (
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/host/wasm"
	"github.com/cruster/cruster/host/wasm/binary/wasmtest"
)

// scribbler is a guest that leaves a mark in each of its pages. Its number makes it another one.
func scribbler(number int) []byte {
	var start []byte
	for page := range 16 {
		start = slices.Concat(start, wasmtest.I32Const(int32(page*4096+64)), wasmtest.I32Const(int32(number+1)), []byte{
			0x36, 0, 0,
		})
	}
	return wasmtest.Module{Init: []byte{nop}, Pages: 1, Start: slices.Concat(start, wasmtest.I32Const(1))}.Assemble()
}

// use makes so many instances, has each take a turn, and closes them.
func use(t *testing.T, m *wasm.Module, instances int) {
	t.Helper()
	made := make([]*wasm.Instance, instances)
	for n := range made {
		i, err := m.Instantiate(t.Context(), wasm.World{})
		require.NoError(t, err)
		require.Zero(t, wasm.PagesWritten(i), "no guest sees what another has left")
		_, err = i.Start(t.Context(), nil)
		require.NoError(t, err)
		require.Equal(t, 16, wasm.PagesWritten(i))
		made[n] = i
	}
	for _, i := range made {
		require.NoError(t, i.Close())
	}
}

// TestMachinesInUseAreWarm: the first ones do not keep others cold.
func TestMachinesInUseAreWarm(t *testing.T) {
	t.Parallel()
	r := newRuntime(t, cached(wasm.Config{}))
	one, many, next := compile(t, r, scribbler(1)), compile(t, r, scribbler(2)), compile(t, r, scribbler(3))
	use(t, one, 1)
	able := wasm.Warm(one) // a kernel before 6.7 is not
	warm := func() []int { return []int{wasm.Warm(one), wasm.Warm(many), wasm.Warm(next)} }

	use(t, many, wasm.MaxWarm)
	require.Equal(t, []int{0, able * wasm.MaxWarm, 0}, warm(), "the one that rested for longest has lost its pages")
	use(t, next, 3)
	require.Equal(t, []int{0, able * (wasm.MaxWarm - 3), able * 3}, warm())
	use(t, one, 1)
	require.Equal(
		t, []int{able, able * (wasm.MaxWarm - 4), able * 3}, warm(), "one that was cold is warm once it was used",
	)
	use(t, many, wasm.MaxWarm)
	require.Equal(t, []int{0, able * wasm.MaxWarm, 0}, warm())
}

// TestMachinesAreCooledWhileTheyAreTaken: together they have more machines than may be warm.
func TestMachinesAreCooledWhileTheyAreTaken(t *testing.T) {
	t.Parallel()
	r := newRuntime(t, cached(wasm.Config{}))
	for number := range 4 {
		m := compile(t, r, scribbler(number))
		t.Cleanup(func() { require.LessOrEqual(t, wasm.Warm(m), wasm.MaxWarm) })
		t.Run(strconv.Itoa(number), func(t *testing.T) {
			t.Parallel()
			for range 10 {
				use(t, m, wasm.MaxWarm/2)
			}
		})
	}
}
