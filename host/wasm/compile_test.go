package wasm_test

import (
	"bytes"
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/wasm"
	"github.com/cruster/cruster/host/wasm/binary/wasmtest"
)

// TestCompileRefuses is about the runtime's additions: its functions and the engine. Package binary
// tests the rest.
func TestCompileRefuses(t *testing.T) {
	t.Parallel()
	r := newRuntime(t, wasm.Config{})
	valid := wasmtest.Module{}.Assemble()
	slow := wasmtest.Join(bytes.Repeat([]byte{0x03, 0x40, 0x0b}, 20_000), wasmtest.I32Const(1))
	importing := func(i wasmtest.Import) []byte { return wasmtest.Module{Imports: []wasmtest.Import{i}}.Assemble() }
	cases := []struct {
		name   string
		binary []byte
		code   abi.Code
		says   string
	}{
		{"nothing", nil, abi.CodeNotWasm, "header"},
		{"truncated", valid[:len(valid)-3], abi.CodeNotWasm, "ends too early"},
		{"invalid code", wasmtest.Module{Start: []byte{0x6a}}.Assemble(), abi.CodeNotWasm, "does not compile"},
		{"code that compiles slowly", wasmtest.Module{Start: slow}.Assemble(), abi.CodeNotWasm, "20000 branches"},
		{"missing export", wasmtest.Module{Omit: abi.ExportStart}.Assemble(), abi.CodeMissingExport, abi.ExportStart},
		{
			"unknown import", importing(wasmtest.Import{Module: "env\x1b[31m", Name: "abort", Type: wasmtest.TypeVoid}),
			abi.CodeUnknownImport, `env\x1b`,
		},
		{
			"unknown function of ours", importing(wasmtest.Cruster("teleport", wasmtest.TypeOp)), abi.CodeUnknownImport,
			"cruster.teleport",
		},
		{
			"unknown function of WASI", importing(wasmtest.WASI("sock_open", wasmtest.TypeOp)), abi.CodeUnknownImport,
			"sock_open",
		},
		{
			"wrong type of ours", importing(wasmtest.Cruster(abi.OpSleep, wasmtest.TypeStrange)), abi.CodeUnknownImport,
			"cruster.sleep as (i64), but it is (i32, i32) → i32",
		},
		{
			"wrong type of WASI", importing(wasmtest.WASI("proc_exit", wasmtest.TypeStrange)), abi.CodeUnknownImport,
			"proc_exit as (i64)",
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := r.Compile(context.Background(), c.binary)
			require.Error(t, err)
			require.Equal(t, c.code, abi.CodeOf(err), err)
			require.Contains(t, err.Error(), c.says)
			requirePlain(t, err)
		})
	}
}

// TestAccept uploads modules beyond a limit of the host. An accepted module still compiles and runs
// under lower limits.
func TestAccept(t *testing.T) {
	t.Parallel()
	large := wasmtest.Module{Pages: 1025}.Assemble()
	lower := newRuntime(t, wasm.Config{MaxModuleSize: int64(len(large)) - 1, MemoryLimit: 1 << 20})
	for _, c := range []struct {
		name   string
		limits wasm.Config
		binary []byte
		code   abi.Code
		says   string
	}{
		{"at the limits", wasm.Config{MaxModuleSize: int64(len(large)), MemoryLimit: 1025 << 16}, large, "", ""},
		{
			"too large",
			wasm.Config{MaxModuleSize: 100_000},
			make([]byte, 100_001), abi.CodeModuleTooLarge,
			"100001 bytes",
		},
		{"too much memory", wasm.Config{}, large, abi.CodeModuleMemory, "65600 KiB"},
		{"a program", wasm.Config{}, wasmtest.Module{Main: true}.Assemble(), abi.CodeMissingExport, "is a program"},
		{"no module", wasm.Config{}, []byte("garbage"), abi.CodeNotWasm, "header"},
	} {
		err := newRuntime(t, c.limits).Accept(c.binary)
		require.Equal(t, c.code, abi.CodeOf(err), "%s: %v", c.name, err)
		if c.code != "" {
			require.ErrorContains(t, err, c.says)
			requirePlain(t, err)
		}
	}
	require.Error(t, lower.Accept(large))
	i := instantiate(t, compile(t, lower, large), wasm.World{})
	turn, err := i.Start(context.Background(), nil)
	require.NoError(t, err)
	require.True(t, turn.Parked)
	require.EqualValues(t, 1025<<16, i.MemoryBytes())
}

// requirePlain checks that a message is fit to be shown.
func requirePlain(t testing.TB, err error) {
	t.Helper()
	require.Less(t, len(err.Error()), 600)
	for _, r := range err.Error() {
		require.True(t, r >= ' ' && r != 0x7f && r != '\ufffd', "%q", err)
	}
}

func TestTruncatedModules(t *testing.T) {
	t.Parallel()
	r := newRuntime(t, wasm.Config{})
	for n := 0; n < len(initLoopBinary); n += 1 + n/50 { // close at first, where the sections are small
		_, err := r.Compile(context.Background(), initLoopBinary[:n])
		require.Contains(
			t, []abi.Code{abi.CodeNotWasm, abi.CodeMissingExport}, abi.CodeOf(err), "cut at %d: %v", n, err,
		)
		requirePlain(t, err)
	}
}

func TestCompileOncePerDigest(t *testing.T) {
	t.Parallel()
	r := newRuntime(t, cached(wasm.Config{}))
	const callers = 8
	modules := make(chan *wasm.Module, callers)
	for range callers {
		go func() {
			m, _ := r.Compile(context.Background(), probeBinary)
			modules <- m
		}()
	}
	first := <-modules
	require.NotNil(t, first)
	for range callers - 1 {
		require.Same(t, first, <-modules)
	}
}

func TestACallerThatStopsWaitingDoesNotStopTheCompilation(t *testing.T) {
	t.Parallel()
	r := newRuntime(t, cached(wasm.Config{}))
	binary := bytes.Clone(probeBinary)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := r.Compile(ctx, binary)
	require.ErrorIs(t, err, context.Canceled)
	clear(binary) // its owner may use it again

	m, err := r.Compile(context.Background(), probeBinary)
	require.NoError(t, err)
	_, err = m.Describe(context.Background())
	require.NoError(t, err)
}

func TestForget(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	r := newRuntime(t, wasm.Config{})
	binary := wasmtest.Module{}.Assemble()

	m := compile(t, r, binary)
	i, err := m.Instantiate(ctx, wasm.World{})
	require.NoError(t, err)
	r.Forget(m.Digest())
	r.Forget("unknown")
	_, err = i.Start(ctx, nil)
	require.NoError(t, err, "a forgotten module lives as long as its instances")
	require.Same(t, m, compile(t, r, binary), "and can be compiled again, to be kept")

	r.Forget(m.Digest())
	require.NoError(t, i.Close())
	_, err = m.Instantiate(ctx, wasm.World{})
	require.ErrorContains(t, err, "forgotten")
	again := compile(t, r, binary)
	require.NotSame(t, m, again)
	instantiate(t, again, wasm.World{})
}
