package wasm_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/wasm"
	"github.com/cruster/cruster/host/wasm/binary/wasmtest"
)

// Every instance reserves as much address space as its limit. A closed instance, and one dead in
// the middle of a turn, must give it back.
func TestMemoryIsGivenBack(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Log("address space is counted on Linux only; elsewhere this test sees that nothing crashes")
	}
	const limit, instances = 4 << 30, 40
	m := compile(t, newRuntime(t, cached(wasm.Config{MemoryLimit: limit})), probeBinary)
	before := addressSpace(t)
	for range instances / 2 {
		i, err := m.Instantiate(context.Background(), fixedWorld(1))
		require.NoError(t, err)
		require.NoError(t, i.Close())

		i, err = m.Instantiate(context.Background(), fixedWorld(1))
		require.NoError(t, err)
		_, err = i.Start(context.Background(), []byte("exit"))
		requireTrap(t, err, abi.CodeGuestExit)
		require.Zero(t, i.MemoryBytes())
	}
	// Other tests run beside this one, with smaller limits.
	require.Less(t, addressSpace(t)-before, int64(limit)*instances/2)
}

func addressSpace(t *testing.T) int64 {
	t.Helper()
	if runtime.GOOS != "linux" {
		return 0
	}
	statm, err := os.ReadFile("/proc/self/statm")
	require.NoError(t, err)
	var pages int64
	_, err = fmt.Sscan(string(statm), &pages)
	require.NoError(t, err)
	return pages * int64(os.Getpagesize())
}

// TestMemoryLimitOfAWorld grows the memory of instances whose world has another limit than the
// runtime: the limit at a run's start holds, on whatever host it goes on.
func TestMemoryLimitOfAWorld(t *testing.T) {
	t.Parallel()
	const page = 64 << 10
	for _, c := range []struct {
		runtime, world, atLeast int64
		pages                   int32 // to have in the end
		grows                   bool
	}{
		{runtime: 16 * page, world: 0, pages: 16, grows: true},
		{runtime: 16 * page, world: 0, pages: 17, grows: false},
		{runtime: 16 * page, world: 32 * page, pages: 32, grows: true},
		{runtime: 16 * page, world: 32 * page, pages: 33, grows: false},
		{runtime: 64 * page, world: 16 * page, pages: 16, grows: true},
		{runtime: 64 * page, world: 16 * page, pages: 17, grows: false},
		{runtime: 16 * page, atLeast: 32 * page, pages: 32, grows: true},
		{runtime: 16 * page, atLeast: 32 * page, pages: 33, grows: false},
		{runtime: 32 * page, atLeast: 16 * page, pages: 32, grows: true},
	} {
		m := compile(t, newRuntime(t, wasm.Config{MemoryLimit: c.runtime}), wasmtest.Module{
			Imports: []wasmtest.Import{wasmtest.Cruster(abi.ImportOutput, wasmtest.TypePtrLen)},
			Start: wasmtest.Join(
				// memory.grow, i32.store
				wasmtest.I32Const(0), wasmtest.I32Const(c.pages-1), []byte{0x40, 0, 0x36, 0, 0},
				wasmtest.I32Const(0), wasmtest.I32Const(4), wasmtest.Call(0), wasmtest.I32Const(0)),
		}.Assemble())
		turn, err := instantiate(t, m, wasm.World{MemoryLimit: c.world, MemoryAtLeast: c.atLeast}).Start(
			context.Background(), nil,
		)
		require.NoError(t, err)
		before := int32(binary.LittleEndian.Uint32(turn.Output))
		require.Equal(t, c.grows, before == 1, "%+v: %d", c, before)
	}
}

// memory is the memory of a host with so many bytes, others' share included.
type memory struct{ total, others, taken int64 }

func (m *memory) Grow(bytes int64) bool {
	if m.taken+m.others+bytes > m.total {
		return false
	}
	m.taken += bytes
	return true
}

func (m *memory) CouldGrow(bytes int64) bool { return m.taken+bytes <= m.total }

// requireStarved checks the error of a guest that the host had no memory for.
func requireStarved(t *testing.T, err error, never bool, name string) {
	t.Helper()
	var trap *wasm.Trap
	require.NotErrorAs(t, err, &trap, name)
	var coded *abi.Error
	require.ErrorAs(t, err, &coded, name)
	if !never {
		require.Equal(t, abi.CodeOverloaded, coded.Code, "%s: %v", name, err)
		return
	}
	require.Equal(t, abi.CodeGuestMemory, coded.Code, "%s: %v", name, err)
	require.False(t, coded.Retryable, name)
	require.Contains(t, coded.Hint, "--memory", name)
	require.Contains(t, coded.Hint, "--guest-memory", name)
}

// TestMemoryThatTheHostDoesNotHave: a guest that asked for more memory than the host had for it has seen something that
// is no part of its run. Whatever it made of that counts for nothing, also if it went on, and its instance is not used
// again.
func TestMemoryThatTheHostDoesNotHave(t *testing.T) {
	t.Parallel()
	output := []wasmtest.Import{wasmtest.Cruster(abi.ImportOutput, wasmtest.TypePtrLen)}
	grow := wasmtest.Join(wasmtest.I32Const(0), wasmtest.I32Const(1), []byte{0x40, 0, 0x36, 2, 0})
	give := wasmtest.Join(wasmtest.I32Const(0), wasmtest.I32Const(4), wasmtest.Call(0), wasmtest.I32Const(0))
	ask := func(m *wasm.Module, world wasm.World) ([]byte, error) {
		i, err := m.Instantiate(context.Background(), world)
		if err != nil {
			return nil, err
		}
		defer i.Close()
		turn, err := i.Start(context.Background(), nil)
		return turn.Output, err
	}
	for name, module := range map[string]wasmtest.Module{
		"in a turn": {Imports: output, Start: wasmtest.Join(grow, give)},
		"in its initialisation, without an image": {Imports: output, Init: grow, Start: give},
	} {
		r := newRuntime(t, wasm.Config{})
		m := compile(t, r, module.Assemble())
		world := wasm.World{OwnInit: module.Init != nil}
		want, err := ask(m, world)
		require.NoError(t, err)
		require.NotEqual(t, []byte{255, 255, 255, 255}, want, name)
		idle := r.Stats().Idle

		for _, short := range []*memory{{total: wasmPage, others: 1}, {total: wasmPage - 1}} {
			starved := world
			starved.Memory = short
			_, err = ask(m, starved)
			requireStarved(t, err, short.others == 0, name)
			require.Equal(t, max(idle-1, 0), r.Stats().Idle, "%s: it is used again", name)

			got, err := ask(m, world)
			require.NoError(t, err, name)
			require.Equal(t, want, got, name)
		}
	}
}
