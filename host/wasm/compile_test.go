package wasm_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/wasm"
)

func TestConfigIsValidated(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]wasm.Config{
		"memory too small": {MemoryLimit: 1},
		"memory too large": {MemoryLimit: 5 << 30},
		"negative timeout": {InitTimeout: -1},
		"negative size":    {MaxModuleSize: -1},
		"negative memory":  {MemoryLimit: -1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := wasm.New(context.Background(), cfg)
			require.Equal(t, abi.CodeBadConfig, abi.CodeOf(err))
		})
	}
}

func TestCompileRefuses(t *testing.T) {
	t.Parallel()
	r := newRuntime(t, wasm.Config{MaxModuleSize: 100_000})
	raw := func(module, name string, desc ...byte) tiny {
		return tiny{rawImps: [][]byte{code(str(module), str(name), desc)}}
	}
	fine := tiny{}.assemble()
	cases := []struct {
		name   string
		binary []byte
		code   abi.Code
		says   string
	}{
		{"nothing", nil, abi.CodeNotWasm, "header"},
		{"text", []byte("#!/bin/sh\necho hello"), abi.CodeNotWasm, "header"},
		{"component", []byte("\x00asm\x0d\x00\x01\x00"), abi.CodeNotWasm, "header"},
		{"header alone", []byte("\x00asm\x01\x00\x00\x00"), abi.CodeMissingExport, "cruster_abi"},
		{"garbage behind the header", append([]byte("\x00asm\x01\x00\x00\x00"), "garbage\xff\x00\x1b["...), abi.CodeNotWasm, "section"},
		{"truncated", fine[:len(fine)-3], abi.CodeNotWasm, "ends too early"},
		{"too large", make([]byte, 100_001), abi.CodeModuleTooLarge, "100001 bytes"},
		{"invalid code", tiny{start: []byte{0x6a}}.assemble(), abi.CodeNotWasm, "does not compile"},
		{"unknown import", tiny{imports: []tinyImport{{"env", "abort", typeVoid}}}.assemble(), abi.CodeUnknownImport, "env.abort"},
		{"unknown function of ours", tiny{imports: []tinyImport{cruster("teleport", typeOp)}}.assemble(), abi.CodeUnknownImport, "cruster.teleport"},
		{"unknown function of WASI", tiny{imports: []tinyImport{{"wasi_snapshot_preview1", "sock_open", typeOp}}}.assemble(), abi.CodeUnknownImport, "sock_open"},
		{"wrong type of ours", tiny{imports: []tinyImport{cruster(abi.OpSleep, typeStrange)}}.assemble(), abi.CodeUnknownImport, "cruster.sleep as (i64), but it is (i32, i32) → i32"},
		{"wrong type of WASI", tiny{imports: []tinyImport{{"wasi_snapshot_preview1", "proc_exit", typeStrange}}}.assemble(), abi.CodeUnknownImport, "proc_exit as (i64)"},
		{"import without a type", tiny{imports: []tinyImport{cruster(abi.OpSleep, 99)}}.assemble(), abi.CodeNotWasm, "has no type"},
		{"hostile name", tiny{imports: []tinyImport{{"env\x1b[31m", strings.Repeat("x", 500), typeVoid}}}.assemble(), abi.CodeUnknownImport, `env\x1b`},
		{"imported memory", raw("env", "memory", 2, 0, 1).assemble(), abi.CodeUnknownImport, "memory env.memory"},
		{"imported table", raw("env", "table", 1, 0x70, 0, 1).assemble(), abi.CodeUnknownImport, "table env.table"},
		{"imported global", raw("env", "global", 3, 0x7f, 0).assemble(), abi.CodeUnknownImport, "global env.global"},
		{"too much memory", tiny{pages: 1025}.assemble(), abi.CodeModuleMemory, "65600 KiB"},
		{"huge table", tiny{table: vec(code([]byte{0x70, 0}, leb(1<<20)))}.assemble(), abi.CodeModuleMemory, "1048576 entries"},
		{"many tables", tiny{table: vec(bytes.Split(bytes.Repeat([]byte{0x70, 0, 1, 0xff}, 17), []byte{0xff})[:17]...)}.assemble(), abi.CodeModuleMemory, "17 tables"},
	}
	for _, export := range []string{abi.ExportABI, abi.ExportDescribe, abi.ExportStart, abi.ExportResume, abi.ExportMemory} {
		cases = append(cases, struct {
			name   string
			binary []byte
			code   abi.Code
			says   string
		}{"without " + export, tiny{omit: export}.assemble(), abi.CodeMissingExport, export})
		if export != abi.ExportMemory {
			cases = append(cases, struct {
				name   string
				binary []byte
				code   abi.Code
				says   string
			}{"wrong type of " + export, tiny{mistype: export}.assemble(), abi.CodeMissingExport, export + " as ()"})
		}
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
	for n := 0; n < len(initLoopBinary); n += 1000 {
		_, err := r.Compile(context.Background(), initLoopBinary[:n])
		require.Contains(t, []abi.Code{abi.CodeNotWasm, abi.CodeMissingExport}, abi.CodeOf(err), "cut at %d: %v", n, err)
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

func TestWhoStopsWaitingForACompilationHarmsNobody(t *testing.T) {
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
	binary := tiny{}.assemble()

	m := compile(t, r, binary)
	i, err := m.Instantiate(ctx, wasm.World{})
	require.NoError(t, err)
	r.Forget(m.Digest())
	r.Forget("unknown")
	_, err = i.Start(ctx, nil)
	require.NoError(t, err, "a forgotten module lives as long as its instances")
	require.Same(t, m, compile(t, r, binary), "and can be remembered")

	r.Forget(m.Digest())
	require.NoError(t, i.Close())
	_, err = m.Instantiate(ctx, wasm.World{})
	require.ErrorContains(t, err, "forgotten")
	again := compile(t, r, binary)
	require.NotSame(t, m, again)
	instantiate(t, again, wasm.World{})
}

func TestCacheOnDisk(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	binary := tiny{}.assemble()
	run := func() {
		r := newRuntime(t, wasm.Config{CacheDir: dir})
		i := instantiate(t, compile(t, r, binary), wasm.World{})
		turn, err := i.Start(context.Background(), nil)
		require.NoError(t, err)
		require.True(t, turn.Parked)
	}
	entries := func() []string {
		files, err := filepath.Glob(filepath.Join(dir, "*", "*"))
		require.NoError(t, err)
		return files
	}
	run()
	require.Len(t, entries(), 1)
	run()

	for name, content := range map[string][]byte{"empty": nil, "garbage": []byte(strings.Repeat("garbage", 1000)), "truncated": []byte("WAZEVO")} {
		require.NoError(t, os.WriteFile(entries()[0], content, 0o600), name)
		run()
		require.Len(t, entries(), 1, name)
	}
}

func TestClose(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	r, err := wasm.New(ctx, cached(wasm.Config{}))
	require.NoError(t, err)
	m := compile(t, r, probeBinary)
	entered := make(chan struct{})
	i := instantiate(t, m, wasm.World{Log: func(int32, []byte) { close(entered) }})

	// A guest that is spinning is stopped and waited for.
	spinning := make(chan error, 1)
	go func() {
		_, err := i.Start(ctx, []byte("spin"))
		spinning <- err
	}()
	<-entered
	require.NoError(t, r.Close(ctx))
	require.NoError(t, r.Close(ctx))
	require.Equal(t, abi.CodeShuttingDown, abi.CodeOf(<-spinning))

	_, err = r.Compile(ctx, probeBinary)
	require.Equal(t, abi.CodeShuttingDown, abi.CodeOf(err))
	_, err = m.Instantiate(ctx, wasm.World{})
	require.Equal(t, abi.CodeShuttingDown, abi.CodeOf(err))
	_, err = i.Resume(ctx, nil)
	require.Equal(t, abi.CodeShuttingDown, abi.CodeOf(err))
	require.NoError(t, i.Close())
}
