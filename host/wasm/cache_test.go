package wasm_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/host/wasm"
	"github.com/cruster/cruster/host/wasm/binary/wasmtest"
)

func TestCacheOnDisk(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	binary := wasmtest.Module{}.Assemble()
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

	for name, content := range map[string][]byte{
		"empty": nil, "garbage": []byte(strings.Repeat("garbage", 1000)), "truncated": []byte("WAZEVO"),
	} {
		require.NoError(t, os.WriteFile(entries()[0], content, 0o600), name)
		run()
		require.Len(t, entries(), 1, name)
	}
}

func TestTheCacheOnDiskIsTrimmed(t *testing.T) {
	t.Parallel()
	dir, asked := filepath.Join(t.TempDir(), "c[1]"), 0 // no pattern
	module := func(number int) []byte { return wasmtest.Module{Locals: 1 + number}.Assemble() }
	entries := func() []string {
		files, err := filepath.Glob(filepath.Join(strings.ReplaceAll(dir, "[", `\[`), "wazero-*", "*"))
		require.NoError(t, err)
		return files
	}
	// Each of the three was used an hour before the next, whatever was written when.
	old := make(map[string]int)
	for number := range 3 {
		compile(t, newRuntime(t, wasm.Config{CacheDir: dir}), module(number))
		for _, file := range entries() {
			if _, known := old[file]; !known {
				old[file] = number
				used := time.Now().Add(time.Duration(number-4) * time.Hour)
				require.NoError(t, os.Chtimes(file, used, used))
			}
		}
	}
	require.Len(t, old, 3)
	for _, other := range []string{
		"cafe", filepath.Join("notes", "diary"), filepath.Join("other", strings.Repeat("ab", 32)),
	} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, other)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, other), make([]byte, 1<<20), 0o600))
	}
	info, err := os.Stat(entries()[0])
	require.NoError(t, err)
	compileElsewhere := func(ctx context.Context, content []byte) error {
		asked++
		return wasm.CompileInto(ctx, dir, content)
	}

	compile(t, newRuntime(t, wasm.Config{
		CacheDir: dir, CacheSize: 3*info.Size() + info.Size()/2, CompileInSubprocess: compileElsewhere,
	}), module(3))
	var left []int
	for _, file := range entries() {
		if number, known := old[file]; known {
			left = append(left, number)
		}
	}
	require.ElementsMatch(t, []int{1, 2}, left, "the one that was not used for longest is gone")
	require.Len(t, entries(), 3, "and the new one is there")
	for _, other := range []string{
		"cafe", filepath.Join("notes", "diary"), filepath.Join("other", strings.Repeat("ab", 32)),
	} {
		_, err := os.Stat(filepath.Join(dir, other))
		require.NoError(t, err, "what others have put there stays")
	}

	// A note would keep a large module that was removed from being compiled in a subprocess again.
	compile(t, newRuntime(t, wasm.Config{CacheDir: dir, CompileInSubprocess: compileElsewhere}), probeBinary)
	require.Equal(t, 1, asked)
	tiny := wasm.Config{CacheDir: dir, CacheSize: 1, CompileInSubprocess: compileElsewhere}
	compile(t, newRuntime(t, tiny), module(4))
	require.Empty(t, entries())
	compile(t, newRuntime(t, wasm.Config{CacheDir: dir, CompileInSubprocess: compileElsewhere}), probeBinary)
	require.Equal(t, 2, asked)
}
