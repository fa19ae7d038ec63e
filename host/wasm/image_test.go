package wasm_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/rand"
	"io"
	mathrand "math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/wasm"
	"github.com/cruster/cruster/host/wasm/binary/wasmtest"
)

// recordedGuest is a guest of the SDK of a language, from the golden journals.
func recordedGuest(t testing.TB, language string) []byte {
	t.Helper()
	packed, err := os.ReadFile(filepath.Join("../../tests/golden/testdata/2", language, "module.wasm.gz"))
	require.NoError(t, err)
	unpack, err := gzip.NewReader(bytes.NewReader(packed))
	require.NoError(t, err)
	content, err := io.ReadAll(unpack)
	require.NoError(t, err)
	return content
}

// step is a call into a guest.
type step struct {
	name  string
	input []byte
}

// ways are the ways to make an instance. All must come to the same.
func ways(limit int64) map[string]wasm.Config {
	return map[string]wasm.Config{
		"initialised": {MemoryLimit: limit, DisableImages: true},
		"mapped":      {MemoryLimit: limit, IdleInstances: -1},
		"reset":       {MemoryLimit: limit},
		"copied":      {MemoryLimit: limit},
		"sliced":      {MemoryLimit: limit},
	}
}

// newRuntimeFor makes the runtime of a way.
func newRuntimeFor(t testing.TB, way string, cfg wasm.Config) *wasm.Runtime {
	t.Helper()
	r := newRuntime(t, cfg)
	wasm.TakeAway(r, way == "copied" || way == "sliced", way == "sliced")
	return r
}

// requireSameStates makes instances in all ways and runs the same steps in them. The states are the same after each
// step, and again after the instances were used.
func requireSameStates(t *testing.T, content []byte, limit int64, rounds [][]step) {
	t.Helper()
	want := map[string]wasm.State{}
	for way, cfg := range ways(limit) {
		r := newRuntimeFor(t, way, cached(cfg))
		m := compile(t, r, content)
		for n, steps := range rounds {
			world := fixedWorld(byte(n))
			ops := uint32(0)
			world.Op = func(string, []byte) (uint32, *abi.Error) { ops++; return ops, nil }
			i, err := m.Instantiate(context.Background(), world)
			require.NoError(t, err)
			require.Equal(t, way != "initialised", wasm.HasImage(i))
			check := func(after string) {
				state, at := wasm.StateOf(i), string(rune('0'+n))+" "+after
				if _, ok := want[at]; !ok {
					want[at] = state
				}
				require.Equal(t, want[at].Size(), state.Size(), "%s, %s: size", way, at)
				require.True(t, bytes.Equal(want[at].Memory, state.Memory), "%s, %s: memory", way, at)
				require.Equal(t, want[at].Globals, state.Globals, "%s, %s", way, at)
			}
			check("at first")
			for s, step := range steps {
				call := i.Resume
				if s == 0 {
					call = i.Start
				}
				_, err := call(context.Background(), step.input)
				require.NoError(t, err)
				check(step.name)
			}
			require.NoError(t, i.Close())
		}
		stats := r.Stats()
		switch way {
		case "initialised":
			require.Zero(t, stats.Mapped+stats.Reused)
		case "mapped":
			require.Equal(t, uint64(len(rounds)), stats.Mapped)
		case "copied": // grown ones are thrown away
			require.Equal(t, uint64(len(rounds)), stats.Mapped+stats.Reused)
			require.NotZero(t, stats.Reused)
		default:
			require.Equal(t, uint64(len(rounds)-1), stats.Reused, "%s: %+v", way, stats)
			require.Equal(t, int64(1), stats.Idle)
		}
	}
}

// TestResetOfAGoGuest dirties a Go guest in many ways, growth included.
func TestResetOfAGoGuest(t *testing.T) {
	t.Parallel()
	requireSameStates(t, probeBinary, 64<<20, [][]step{
		{{"echo", []byte("echo one")}},
		{{"chance", []byte("chance")}},
		{{"parked", []byte("park")}, {"resumed", []byte("3")}, {"resumed again", []byte("4")}},
		{{"grown", []byte("full")}},
		{{"churned", []byte("churn")}},
		{},
		{{"parked", []byte("park")}, {"resumed", []byte("3")}, {"done", []byte("end")}},
		{{"chance", []byte("chance")}},
	})
}

// TestResetOfGuestsOfTheSDKs runs a workflow until it parks, and something unknown.
func TestResetOfGuestsOfTheSDKs(t *testing.T) {
	t.Parallel()
	for _, language := range []string{"go", "rust"} {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			invoke := func(kind, name string) step {
				return step{kind + name, abi.MustMarshal(&abi.Invocation{
					Kind: kind,
					Name: name,
					Body: abi.MustMarshal(map[string]any{"calls": []any{}, "pages": 100}),
					Seed: make([]byte, 16),
					Time: 1e18,
				})}
			}
			workflow, unknown := invoke(abi.InvokeWorkflow, "Everything"), invoke(abi.InvokeActivity, "unknown")
			resume := step{"resumed", abi.MustMarshal(&abi.Resume{Time: 2e18})}
			requireSameStates(t, recordedGuest(t, language), 64<<20, [][]step{
				{workflow}, {unknown}, {workflow, resume}, {}, {workflow}, {unknown},
			})
		})
	}
}

// TestChanceInActivities: with a real random source no two calls see the same, in mapped instances
// and in reset ones.
func TestChanceInActivities(t *testing.T) {
	t.Parallel()
	for way, cfg := range ways(0) {
		m := compile(t, newRuntimeFor(t, way, cached(cfg)), probeBinary)
		seen := map[string]bool{}
		for range 4 {
			world := fixedWorld(0)
			world.Random = rand.Reader
			i, err := m.Instantiate(context.Background(), world)
			require.NoError(t, err)
			turn, err := i.Start(context.Background(), []byte("sources"))
			require.NoError(t, err)
			for source := range bytes.SplitSeq(turn.Output, []byte("\n")) {
				require.False(t, seen[string(source)], "%s: %s", way, source)
				seen[string(source)] = true
			}
			require.NoError(t, i.Close())
		}
	}
}

// TestClockGoesOnAfterTheImage: the wall clock is the world's, and the monotonic one goes on from where initialisation
// left it.
func TestClockGoesOnAfterTheImage(t *testing.T) {
	t.Parallel()
	for way, cfg := range ways(0) {
		m := compile(t, newRuntimeFor(t, way, cached(cfg)), probeBinary)
		for range 2 {
			now := time.Unix(1_900_000_000, 0)
			world := wasm.World{
				Clock: func() time.Time { return now },
				Sleep: func(_ context.Context, d time.Duration) error { now = now.Add(d); return nil },
			}
			i, err := m.Instantiate(context.Background(), world)
			require.NoError(t, err)
			turn, err := i.Start(context.Background(), []byte("clock"))
			require.NoError(t, err)
			require.Equal(t, "1900000000 1s 1900000001 init+1s", string(turn.Output), way)
			require.NoError(t, i.Close())
		}
	}
}

// TestOwnInit: a world may ask for an initialisation of its own, and sees it.
func TestOwnInit(t *testing.T) {
	t.Parallel()
	r := newRuntime(t, cached(wasm.Config{}))
	m := compile(t, r, probeBinary)
	world := fixedWorld(1)
	world.OwnInit = true
	i := instantiate(t, m, world)
	require.False(t, wasm.HasImage(i))
	before := wasm.StateOf(i)
	i = instantiate(t, m, fixedWorld(1))
	require.True(t, wasm.HasImage(i))
	require.False(t, bytes.Equal(before.Memory, wasm.StateOf(i).Memory))
}

// TestModulesThatInitialiseThemselves have something in their state that must not be the same in all instances, or that
// a reset does not bring back. Each instance is fresh all the same.
func TestModulesThatInitialiseThemselves(t *testing.T) {
	t.Parallel()
	const drop = 0x1a
	clock := wasmtest.Import{Module: "wasi_snapshot_preview1", Name: "clock_time_get", Type: wasmtest.TypeClock}
	random := wasmtest.WASI("random_get", wasmtest.TypeOp)
	output := wasmtest.Cruster(abi.ImportOutput, wasmtest.TypePtrLen)
	// All of them hand over the first 8 bytes of memory, after they have added one.
	bump := wasmtest.Join(
		wasmtest.I32Const(4), wasmtest.I32Const(4), []byte{0x28, 2, 0}, wasmtest.I32Const(1), []byte{0x6a, 0x36, 2, 0},
	)
	give := func(function byte) []byte {
		return wasmtest.Join(
			bump, wasmtest.I32Const(0), wasmtest.I32Const(8), wasmtest.Call(function), wasmtest.I32Const(0),
		)
	}
	for name, c := range map[string]struct {
		module wasmtest.Module
		differ bool // from instance to instance
	}{
		"draws random numbers": {wasmtest.Module{
			Imports: []wasmtest.Import{random, output}, Start: give(1),
			Init: wasmtest.Join(wasmtest.I32Const(0), wasmtest.I32Const(4), wasmtest.Call(0), []byte{drop}),
		}, true},
		"reads the clock": {wasmtest.Module{
			Imports: []wasmtest.Import{clock, output}, Start: give(1),
			Init: wasmtest.Join(
				wasmtest.I32Const(0), []byte{0x42, 0}, wasmtest.I32Const(0), wasmtest.Call(0), []byte{drop},
			),
		}, true},
		"closes a stream": {wasmtest.Module{
			Imports: []wasmtest.Import{wasmtest.WASI("fd_close", wasmtest.TypeTurn), output}, Start: give(1),
			Init: wasmtest.Join(wasmtest.I32Const(1), wasmtest.Call(0), []byte{drop}),
		}, false},
		"changes a table": {wasmtest.Module{
			Imports: []wasmtest.Import{output}, Table: wasmtest.Vector([]byte{0x70, 0, 2}), Start: give(0),
			Init: wasmtest.Join(wasmtest.I32Const(0), []byte{0xd0, 0x70, 0x26, 0}),
		}, false},
		"uses passive segments": {wasmtest.Module{
			Imports: []wasmtest.Import{output}, Start: give(0),
			DataCount: []byte{1}, DataSection: wasmtest.Vector([]byte{1, 1, 'a'}),
			Init: wasmtest.Join(wasmtest.I32Const(0), wasmtest.I32Const(0), wasmtest.I32Const(1), []byte{
				0xfc, 8, 0, 0, 0xfc, 9, 0,
			}),
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRuntime(t, wasm.Config{})
			m := compile(t, r, c.module.Assemble())
			run := func(seed byte) []byte {
				world := fixedWorld(seed)
				world.Clock = func() time.Time { return time.Unix(int64(seed)+1, 0) }
				i, err := m.Instantiate(context.Background(), world)
				require.NoError(t, err)
				require.False(t, wasm.HasImage(i))
				turn, err := i.Start(context.Background(), nil)
				require.NoError(t, err)
				require.NoError(t, i.Close())
				return turn.Output
			}
			first := run(1)
			require.Equal(t, first, run(1))
			require.Equal(t, c.differ, !bytes.Equal(first, run(2)))
			require.Zero(t, r.Stats().Reused)
		})
	}
}

// TestASecondInitialisationThatFailsDecidesNothing: a module whose second initialisation fails, here because of the
// random numbers of it alone, has no instances. If it had some that initialise themselves, a host on which it fails for
// reasons of its own, such as a limit of time, would replay a journal otherwise than the host that wrote it.
func TestASecondInitialisationThatFailsDecidesNothing(t *testing.T) {
	t.Parallel()
	var first, second [1]byte // that the two initialisations draw
	_, _ = mathrand.NewChaCha8([32]byte{0}).Read(first[:])
	_, _ = mathrand.NewChaCha8([32]byte{1}).Read(second[:])
	require.NotEqual(t, first, second)
	draw := wasmtest.Join(wasmtest.I32Const(0), wasmtest.I32Const(1), wasmtest.Call(0), []byte{0x1a})
	isSecond := wasmtest.Join(
		wasmtest.I32Const(0), []byte{0x2d, 0, 0}, wasmtest.I32Const(int32(second[0])), []byte{0x46},
	)
	for name, fails := range map[string][]byte{
		"traps":        {0x04, 0x40, 0x00, 0x0b},
		"is timed out": {0x04, 0x40, 0x03, 0x40, 0x0c, 0, 0x0b, 0x0b},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := compile(t, newRuntime(t, wasm.Config{InitTimeout: 100 * time.Millisecond}), wasmtest.Module{
				Imports: []wasmtest.Import{wasmtest.WASI("random_get", wasmtest.TypeOp)},
				Init:    wasmtest.Join(draw, isSecond, fails),
				Start:   wasmtest.I32Const(abi.StatusParked),
			}.Assemble())
			for range 2 {
				_, err := m.Instantiate(t.Context(), fixedWorld(0)) // whose random numbers do no harm
				require.Equal(t, abi.CodeModuleInit, abi.CodeOf(err), "%v", err)
			}
		})
	}
}

// TestInstancesThatAreNotUsedAgain have ended badly, or changed state that a reset does not
// restore.
func TestInstancesThatAreNotUsedAgain(t *testing.T) {
	t.Parallel()
	r := newRuntime(t, cached(wasm.Config{}))
	m := compile(t, r, probeBinary)
	closer := compile(t, r, wasmtest.Module{
		Imports: []wasmtest.Import{wasmtest.WASI("fd_close", wasmtest.TypeTurn)},
		Start:   wasmtest.Join(wasmtest.I32Const(1), wasmtest.Call(0), []byte{0x1a}, wasmtest.I32Const(1)),
	}.Assemble())
	for name, c := range map[string]struct {
		module *wasm.Module
		input  string
		fails  bool
	}{
		"panic":  {m, "panic", true},
		"exit":   {m, "exit 0", true},
		"memory": {m, "hog", true},
		"wild":   {m, "wildout", true},
		"closed": {closer, "", false},
	} {
		i, err := c.module.Instantiate(context.Background(), wasm.World{})
		require.NoError(t, err)
		require.True(t, wasm.HasImage(i))
		_, err = i.Start(context.Background(), []byte(c.input))
		require.Equal(t, c.fails, err != nil, "%s: %v", name, err)
		require.NoError(t, i.Close())
		require.Zero(t, r.Stats().Idle, name)
	}
	ctx, cancel := context.WithCancel(context.Background())
	i, err := m.Instantiate(ctx, wasm.World{
		Call: func(context.Context, string, []byte) ([]byte, *abi.Error) { cancel(); return nil, nil },
	})
	require.NoError(t, err)
	_, _ = i.Start(ctx, []byte("call x"))
	require.NoError(t, i.Close())
	require.Zero(t, r.Stats().Idle, "it was cut off")
	require.Zero(t, r.Stats().Reused)
}

// TestImageAndMemoryLimit: an instance whose limit is another one than the runtime's has the image if its
// initialisation did not notice the limit, and one for its own limit if it did.
func TestImageAndMemoryLimit(t *testing.T) {
	t.Parallel()
	const page = 64 << 10
	output := []wasmtest.Import{wasmtest.Cruster(abi.ImportOutput, wasmtest.TypePtrLen)}
	grow := func(pages int32) []byte { // and note the result
		return wasmtest.Join(wasmtest.I32Const(0), wasmtest.I32Const(pages), []byte{0x40, 0, 0x36, 2, 0})
	}
	give := wasmtest.Join(wasmtest.I32Const(0), wasmtest.I32Const(4), wasmtest.Call(0), wasmtest.I32Const(0))
	for _, c := range []struct {
		grows  int32
		worlds []int64 // pages
		grew   []bool
		images uint64 // initialisations, two an image
	}{
		{grows: 3, worlds: []int64{0, 8, 4, 32}, grew: []bool{true, true, true, true}, images: 1},
		{grows: 3, worlds: []int64{0, 3, 3, 0}, grew: []bool{true, false, false, true}, images: 2},
		{grows: 20, worlds: []int64{0, 32, 0, 32, 10}, grew: []bool{false, true, false, true, false}, images: 3},
	} {
		r := newRuntime(t, wasm.Config{MemoryLimit: 16 * page})
		m := compile(t, r, wasmtest.Module{Imports: output, Init: grow(c.grows), Start: give}.Assemble())
		for n, world := range c.worlds {
			i, err := m.Instantiate(context.Background(), wasm.World{MemoryLimit: world * page})
			require.NoError(t, err)
			require.True(t, wasm.HasImage(i))
			turn, err := i.Start(context.Background(), nil)
			require.NoError(t, err)
			require.Equal(t, c.grew[n], turn.Output[0] == 1, "%+v: %d", c, n)
			require.NoError(t, i.Close())
		}
		require.Equal(t, 2*c.images, r.Stats().Initialized, "%+v", c)
	}
}

// TestReuseAndMemoryLimit: an instance that was used with one limit is not used again with another.
func TestReuseAndMemoryLimit(t *testing.T) {
	t.Parallel()
	const page = 64 << 10
	m := compile(t, newRuntime(t, wasm.Config{MemoryLimit: 16 * page}), wasmtest.Module{
		Imports: []wasmtest.Import{wasmtest.Cruster(abi.ImportOutput, wasmtest.TypePtrLen)},
		Start: wasmtest.Join(wasmtest.I32Const(0), wasmtest.I32Const(6), []byte{0x40, 0, 0x36, 2, 0},
			wasmtest.I32Const(0), wasmtest.I32Const(4), wasmtest.Call(0), wasmtest.I32Const(0)),
	}.Assemble())
	for n, limit := range []int64{8, 4, 8, 4, 16} {
		i, err := m.Instantiate(context.Background(), wasm.World{MemoryLimit: limit * page})
		require.NoError(t, err)
		turn, err := i.Start(context.Background(), nil)
		require.NoError(t, err)
		require.Equal(t, limit > 6, turn.Output[0] == 1, "%d: a limit of %d pages", n, limit)
		require.NoError(t, i.Close())
	}
}
