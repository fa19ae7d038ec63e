package wasm_test

import (
	"bytes"
	"context"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/wasm"
	"github.com/cruster/cruster/host/wasm/binary/wasmtest"
)

// TestIdleInstanceIsSmall: thousands of functions are in the table of a program in Go, and an
// instance that does nothing has none of them on the host's heap. It is the table that is there,
// eight bytes an entry.
//
// It does not run beside others: it looks at the heap.
func TestIdleInstanceIsSmall(t *testing.T) { //nolint:paralleltest // see above
	const count, most = 100, 48 << 10
	m := compile(t, newRuntime(t, cached(wasm.Config{})), probeBinary)
	instantiate(t, m, fixedWorld(0)) // and with it the image
	before := heap()
	instances := make([]*wasm.Instance, count)
	for n := range instances {
		instances[n] = instantiate(t, m, fixedWorld(byte(n)))
	}
	require.Less(t, (heap()-before)/count, int64(most))
	runtime.KeepAlive(instances)
}

func heap() int64 {
	runtime.GC()
	runtime.GC() // the first leaves objects with finalizers
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// TestTableIsFilledOnDemand calls every entry of a large table, and some empty ones, of a fresh
// instance and of a reset one: each call finds the function that belongs there.
func TestTableIsFilledOnDemand(t *testing.T) {
	t.Parallel()
	const lead, entries, last = 4096, 700, 100
	self, resume := wasmtest.Self(1), wasmtest.Self(1)-1
	segment := func(at, count int, function byte) []byte {
		return wasmtest.Join(
			[]byte{0}, wasmtest.I32Const(int32(at)), []byte{0x0b}, wasmtest.U32(count),
			bytes.Repeat([]byte{function}, count),
		)
	}
	content := wasmtest.Module{
		Imports:  []wasmtest.Import{wasmtest.Cruster(abi.ImportOutput, wasmtest.TypePtrLen)},
		Table:    wasmtest.Vector(append([]byte{0x70, 0}, wasmtest.U32(lead+entries+last+1)...)),
		Elements: wasmtest.Vector(segment(lead, entries, self), segment(lead+entries, last, resume)),
		Extra:    wasmtest.I32Const(abi.StatusParked),
		// The length of the input is the index; 77 stands for another status.
		Start:  wasmtest.Join([]byte{0x20, 0, 0x20, 0, 0x11, wasmtest.TypeTurn, 0}),
		Resume: wasmtest.I32Const(77),
	}.Assemble()
	m := compile(t, newRuntime(t, wasm.Config{}), content)
	for range 2 { // the second time in an instance that was used
		for _, index := range []int{
			lead, lead + 1, lead + 255, lead + 256, lead + entries - 1, lead, lead + entries, lead + entries + last - 1,
		} {
			i, err := m.Instantiate(context.Background(), wasm.World{})
			require.NoError(t, err)
			_, err = i.Start(context.Background(), make([]byte, index))
			if index < lead+entries {
				require.NoError(t, err, index)
			} else {
				require.Contains(t, requireTrap(t, err, abi.CodeGuestProtocol).Err.Message, "unknown status 77", index)
			}
			require.NoError(t, i.Close())
		}
		for _, index := range []int{0, 1, lead - 1, lead + entries + last, lead + entries + last + 1, 1 << 20} {
			i, err := m.Instantiate(context.Background(), wasm.World{})
			require.NoError(t, err)
			_, err = i.Start(context.Background(), make([]byte, index))
			require.Contains(t, requireTrap(t, err, abi.CodeGuestTrap).Err.Message, "invalid table access", index)
			require.NoError(t, i.Close())
		}
	}
}

// TestTableOnDemandOfManySegments: functions that are imported, and a function whose only entry is overwritten and that
// the code refers to.
func TestTableOnDemandOfManySegments(t *testing.T) {
	t.Parallel()
	self, resume := wasmtest.Self(1), wasmtest.Self(1)-1
	segment := func(at, count int, function byte) []byte {
		return wasmtest.Join(
			[]byte{0}, wasmtest.I32Const(int32(at)), []byte{0x0b}, wasmtest.U32(count),
			bytes.Repeat([]byte{function}, count),
		)
	}
	const drop = 0x1a
	content := wasmtest.Module{
		Imports:  []wasmtest.Import{wasmtest.Cruster(abi.ImportOutput, wasmtest.TypePtrLen)},
		Table:    wasmtest.Vector(append([]byte{0x70, 0}, wasmtest.U32(700)...)),
		Elements: wasmtest.Vector(segment(1, 1, self), segment(1, 699, resume), segment(0, 1, 0)),
		Extra:    wasmtest.I32Const(abi.StatusParked),
		Data:     []byte("abc"),
		Start: wasmtest.Join([]byte{0xd2, self, drop}, wasmtest.I32Const(0), wasmtest.I32Const(3), wasmtest.I32Const(0),
			[]byte{0x11, wasmtest.TypePtrLen, 0}, wasmtest.I32Const(abi.StatusDone)),
	}.Assemble()
	i := instantiate(t, compile(t, newRuntime(t, wasm.Config{}), content), wasm.World{})
	turn, err := i.Start(context.Background(), nil)
	require.NoError(t, err)
	require.Equal(t, "abc", string(turn.Output))
}
