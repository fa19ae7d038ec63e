package wasm_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"math"
	"strconv"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/wasm"
	"github.com/cruster/cruster/host/wasm/binary/wasmtest"
)

const (
	i32, i64, f32, f64 = 0x7f, 0x7e, 0x7d, 0x7c
	nop, drop          = 0x01, 0x1a
	wasmPage           = 64 << 10
	// A table as in Go: so many empty entries come before so many functions.
	lead, functions = 4096, 600
)

// instruction draws an instruction that changes memory, its size or a global, or that calls through
// the table, which shows its content.
func instruction(t *rapid.T) []byte {
	number := func() int32 { return rapid.Int32().Draw(t, "number") }
	address := func() []byte { return wasmtest.I32Const(rapid.Int32Range(0, 2*wasmPage-8).Draw(t, "address")) }
	long := func() []byte { return binary.LittleEndian.AppendUint64([]byte{0x44}, rapid.Uint64().Draw(t, "bits")) }
	// memory.size in bytes, less 8
	top := wasmtest.Join([]byte{0x3f, 0}, wasmtest.I32Const(wasmPage), []byte{0x6c}, wasmtest.I32Const(8), []byte{0x6b})
	switch rapid.SampledFrom([]string{
		"store", "store at the top", "fill", "copy", "grow", "i32", "i64", "f32", "f64", "call",
	}).Draw(t, "instruction") {
	case "store":
		return wasmtest.Join(address(), wasmtest.I32Const(number()), []byte{0x36, 0, 0})
	case "store at the top":
		return wasmtest.Join(top, wasmtest.I32Const(number()), []byte{0x36, 0, 0})
	case "fill":
		return wasmtest.Join(
			wasmtest.I32Const(rapid.Int32Range(0, wasmPage).Draw(t, "address")), wasmtest.I32Const(number()),
			wasmtest.I32Const(rapid.Int32Range(0, wasmPage).Draw(t, "length")), []byte{0xfc, 11, 0},
		)
	case "copy":
		return wasmtest.Join(address(), address(), wasmtest.I32Const(8), []byte{0xfc, 10, 0, 0})
	case "grow":
		return wasmtest.Join(wasmtest.I32Const(rapid.Int32Range(0, 5).Draw(t, "pages")), []byte{0x40, 0, drop})
	case "i32":
		return wasmtest.Join(wasmtest.I32Const(number()), []byte{0x24, 0})
	case "i64":
		return wasmtest.Join(wasmtest.I32Const(number()), []byte{0xac, 0x24, 1})
	case "f32":
		return wasmtest.Join(binary.LittleEndian.AppendUint32(
			[]byte{0x43}, rapid.Uint32().Draw(t, "bits"),
		), []byte{0x24, 2})
	case "f64":
		return wasmtest.Join(long(), []byte{0x24, 3})
	default:
		return wasmtest.Join(
			address(), wasmtest.I32Const(number()),
			wasmtest.I32Const(rapid.Int32Range(lead, lead+functions-1).Draw(t, "entry")),
			[]byte{0x11, wasmtest.TypeTurn, 0, 0x36, 0, 0},
		)
	}
}

// program draws a module that does much of it in its initialisation and in each turn, and grows up
// to its own limit, or to its world's.
func program(t *rapid.T) []byte {
	code := func(name string) []byte {
		return wasmtest.Join(rapid.SliceOfN(rapid.Custom(instruction), 0, 12).Draw(t, name)...)
	}
	extra := wasmtest.Self(0)
	global := func(typ byte, init ...byte) []byte { return wasmtest.Join([]byte{typ, 1}, init, []byte{0x0b}) }
	return wasmtest.Module{
		Pages:         2,
		Init:          append([]byte{nop}, code("initialisation")...),
		StartFunction: rapid.Bool().Draw(t, "start function"),
		Data:          rapid.SliceOfN(rapid.Byte(), 0, 100).Draw(t, "data"),
		Globals: wasmtest.Vector(
			global(i32, 0x41, 5), global(i64, 0x42, 6),
			global(f32, binary.LittleEndian.AppendUint32([]byte{0x43}, math.Float32bits(7))...),
			global(f64, binary.LittleEndian.AppendUint64([]byte{0x44}, math.Float64bits(8))...),
			wasmtest.Join([]byte{i32, 0}, wasmtest.I32Const(9), []byte{0x0b})),
		Table: wasmtest.Vector(append([]byte{0x70, 0}, wasmtest.U32(lead+functions)...)),
		Elements: wasmtest.Vector(wasmtest.Join(
			[]byte{0}, wasmtest.I32Const(lead), []byte{0x0b}, wasmtest.U32(functions),
			bytes.Repeat([]byte{extra}, functions),
		)),
		Extra:  wasmtest.Join([]byte{0x20, 0}, []byte{0x23, 0, 0x6a}),
		Start:  wasmtest.Join(code("first turn"), wasmtest.I32Const(1)),
		Resume: wasmtest.Join(code("further turns"), wasmtest.I32Const(1)),
	}.Assemble()
}

// TestResetOfRandomPrograms: a program finds and does the same after a reset as in an instance that
// nothing ran in before.
func TestResetOfRandomPrograms(t *testing.T) {
	t.Parallel()
	const limit = 16 * wasmPage
	runtimes := map[string]*wasm.Runtime{}
	for way, cfg := range ways(limit) {
		runtimes[way] = newRuntimeFor(t, way, cfg)
	}
	rapid.Check(t, func(t *rapid.T) {
		content := program(t)
		turns := rapid.SliceOfN(rapid.IntRange(0, 3), 2, 4).Draw(t, "turns of each use")
		type moment struct{ use, turn int }
		want := map[moment]wasm.State{}
		for way, r := range runtimes {
			m, err := r.Compile(context.Background(), content)
			require.NoError(t, err)
			before := r.Stats()
			for use, turns := range turns {
				i, err := m.Instantiate(context.Background(), wasm.World{})
				require.NoError(t, err)
				for turn := range turns + 1 {
					state := wasm.StateOf(i)
					if turn == 0 && use > 0 {
						requireState(t, want[moment{0, 0}], state, way)
					}
					at := moment{use, turn}
					if _, ok := want[at]; !ok {
						want[at] = state
					}
					requireState(t, want[at], state, way)
					call := i.Resume
					if turn == 0 {
						call = i.Start
					}
					if _, err := call(context.Background(), nil); err != nil {
						t.Fatalf("%s: %v", way, err)
					}
				}
				require.NoError(t, i.Close())
			}
			if after := r.Stats(); way == "reset" || way == "sliced" {
				require.Equal(t, uint64(len(turns)-1), after.Reused-before.Reused)
			}
			r.Forget(m.Digest())
		}
	})
}

func requireState(t require.TestingT, want, got wasm.State, way string) {
	require.Equal(t, want.Size(), got.Size(), way)
	require.True(t, bytes.Equal(want.Memory, got.Memory), way)
	require.Equal(t, want.Globals, got.Globals, way)
}

// TestFullMemory: an instance that has grown to its limit, or to the module's own, is reset or
// thrown away. The next one is fresh.
func TestFullMemory(t *testing.T) {
	t.Parallel()
	output := []wasmtest.Import{wasmtest.Cruster(abi.ImportOutput, wasmtest.TypePtrLen)}
	content := wasmtest.Module{Imports: output, Start: wasmtest.Join(
		wasmtest.I32Const(0), wasmtest.I32Const(15), []byte{0x40, 0, 0x36, 2, 0},
		wasmtest.I32Const(0), wasmtest.I32Const(4), wasmtest.Call(0), wasmtest.I32Const(0))}.Assemble()
	bounded := bytes.Replace(content, []byte{5, 3, 1, 0, 1}, []byte{5, 4, 1, 1, 1, 16}, 1)
	require.NotEqual(t, content, bounded)
	for _, c := range [][]byte{content, bounded} {
		m := compile(t, newRuntime(t, wasm.Config{MemoryLimit: 16 * wasmPage}), c)
		for range 3 {
			i, err := m.Instantiate(context.Background(), wasm.World{})
			require.NoError(t, err)
			require.Len(t, wasm.StateOf(i).Memory, wasmPage)
			turn, err := i.Start(context.Background(), nil)
			require.NoError(t, err)
			require.Equal(t, []byte{1, 0, 0, 0}, turn.Output)
			require.NoError(t, i.Close())
		}
	}
}

// TestPoolIsBounded in number and in time.
func TestPoolIsBounded(t *testing.T) {
	t.Parallel()
	clock := clockwork.NewFakeClock()
	r := newRuntime(t, wasm.Config{Clock: clock, IdleInstances: 3, IdleTime: time.Minute})
	m := compile(t, r, wasmtest.Module{}.Assemble())
	use := func(count int) {
		instances := make([]*wasm.Instance, count)
		for n := range instances {
			instances[n] = instantiate(t, m, wasm.World{})
		}
		for _, i := range instances {
			require.NoError(t, i.Close())
		}
	}
	use(5)
	require.Equal(t, wasm.Stats{Idle: 3, Mapped: 5, Initialized: 2, Discarded: 2}, r.Stats())
	clock.Advance(40 * time.Second)
	use(1)
	require.Equal(t, uint64(1), r.Stats().Reused)
	clock.Advance(20 * time.Second)
	waitForIdle(t, r, 1)
	clock.Advance(39 * time.Second)
	require.Equal(t, int64(1), r.Stats().Idle)
	clock.Advance(time.Second)
	waitForIdle(t, r, 0)

	use(2)
	r.Forget(m.Digest())
	require.Zero(t, r.Stats().Idle, "a module that is forgotten takes its idle instances along")
}

// waitForIdle waits for timers, which run beside the test.
func waitForIdle(t *testing.T, r *wasm.Runtime, count int64) {
	t.Helper()
	require.Eventually(t, func() bool { return r.Stats().Idle == count }, time.Hour, time.Millisecond)
}

// TestClosingTwice: an instance that was given back is not the next user's.
func TestClosingTwice(t *testing.T) {
	t.Parallel()
	m := compile(t, newRuntime(t, wasm.Config{}), wasmtest.Module{}.Assemble())
	first := instantiate(t, m, wasm.World{})
	require.NoError(t, first.Close())
	second := instantiate(t, m, wasm.World{})
	require.NoError(t, first.Close())
	_, err := first.Start(context.Background(), nil)
	require.Error(t, err)
	turn, err := second.Start(context.Background(), nil)
	require.NoError(t, err)
	require.True(t, turn.Parked)
}

// TestPoolUnderLoad has many goroutines take and give back instances of one module.
func TestPoolUnderLoad(t *testing.T) {
	t.Parallel()
	r := newRuntime(t, cached(wasm.Config{IdleInstances: 3}))
	m := compile(t, r, probeBinary)
	for w := range 8 {
		t.Run(strconv.Itoa(w), func(t *testing.T) {
			t.Parallel()
			for n := range 10 {
				i, err := m.Instantiate(context.Background(), fixedWorld(byte(w)))
				require.NoError(t, err)
				text := strconv.Itoa(w*100 + n)
				turn, err := i.Start(context.Background(), []byte("echo "+text))
				require.NoError(t, err)
				require.Equal(t, text, string(turn.Output))
				require.NoError(t, i.Close())
			}
		})
	}
}
