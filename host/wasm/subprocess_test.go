package wasm_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/host/wasm"
	"github.com/cruster/cruster/host/wasm/binary/wasmtest"
)

// compiledEntry is the file of the one module in a cache, without the notes.
func compiledEntry(t *testing.T, dir string) os.FileInfo {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "wazero-*", "*"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	info, err := os.Stat(files[0])
	require.NoError(t, err)
	return info
}

func TestLargeModulesAreCompiledInASubprocess(t *testing.T) {
	t.Parallel()
	dir, asked := t.TempDir(), 0
	var compiled os.FileInfo
	var logged strings.Builder
	compileElsewhere := func(ctx context.Context, content []byte) error {
		asked++
		err := wasm.CompileInto(ctx, dir, content)
		compiled = compiledEntry(t, dir)
		return err
	}
	for range 2 {
		r := newRuntime(t, wasm.Config{
			CacheDir: dir, CompileInSubprocess: compileElsewhere, Logger: slog.New(slog.NewTextHandler(&logged, nil)),
		})
		_, err := instantiate(t, compile(t, r, probeBinary), fixedWorld(1)).Start(t.Context(), nil)
		require.NoError(t, err)
		require.Equal(t, 1, asked, "a host that starts again asks no one")
		require.Equal(t, 1, strings.Count(logged.String(), "compiling a module"), logged.String())
		require.True(t, os.SameFile(compiled, compiledEntry(t, dir)), "the host took what was compiled")
	}
	r := newRuntime(t, wasm.Config{CacheDir: dir, CompileInSubprocess: compileElsewhere})
	compile(t, r, wasmtest.Module{}.Assemble())
	require.Equal(t, 1, asked, "a small one is not worth it")
}

func TestNothingDependsOnTheSubprocess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := newRuntime(t, wasm.Config{
		CacheDir: dir, CompileInSubprocess: func(context.Context, []byte) error { return errors.New("killed") },
	})
	_, err := instantiate(t, compile(t, r, probeBinary), fixedWorld(1)).Start(t.Context(), nil)
	require.NoError(t, err)
	compiledEntry(t, dir)
}
