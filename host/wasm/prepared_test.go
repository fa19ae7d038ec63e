package wasm

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/wasm/binary"
	"github.com/cruster/cruster/host/wasm/binary/wasmtest"
)

// TestPrepared: an upload is prepared once, for all hosts that share a cache; and again if the file
// is broken.
func TestPrepared(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	content := wasmtest.Module{Data: bytes.Repeat([]byte{1}, preparedSize)}.Assemble()
	upload, err := binary.Parse(content)
	require.NoError(t, err)
	prepare := func() *preparation {
		r, err := New(t.Context(), Config{CacheDir: dir})
		require.NoError(t, err)
		defer func() { require.NoError(t, r.Close(t.Context())) }()
		p, err := r.prepare(Digest(content), upload, len(content))
		require.NoError(t, err)
		r.keepPrepared(Digest(content), len(content), p)
		p.file = ""
		return p
	}
	first := prepare()
	require.NotNil(t, first.Template)
	require.Len(t, first.Template.Segments, 1)
	files, err := filepath.Glob(filepath.Join(dir, preparedDir, "*"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	require.Equal(t, first, prepare(), "nothing is lost")

	other := &preparation{Content: []byte("made before"), Hidden: "for a test"}
	require.NoError(t, writePrepared(files[0], other))
	require.Equal(t, other, prepare(), "it is read")

	whole, err := os.ReadFile(files[0])
	require.NoError(t, err)
	for name, broken := range map[string][]byte{
		"Empty": nil, "Short": whole[:len(whole)-1], "Changed": append([]byte{whole[0] ^ 1}, whole[1:]...),
	} {
		require.NoError(t, os.WriteFile(files[0], broken, 0o600))
		require.Equal(t, first, prepare(), name)
	}
	// It is whole, and the engine does not take it.
	require.NoError(t, writePrepared(files[0], other))
	r, err := New(t.Context(), Config{CacheDir: dir})
	require.NoError(t, err)
	_, err = r.Compile(t.Context(), content)
	require.NoError(t, err)
	require.NoError(t, r.Close(t.Context()))
	require.Equal(t, first, prepare(), "it was made again")

	left, err := filepath.Glob(filepath.Join(dir, preparedDir, "*"))
	require.NoError(t, err)
	require.Equal(t, files, left, "nothing else is left")

	require.Len(t, overflow(r.cacheEntries(), 1), 2, "it counts as part of the cache, as the code does")
}

// TestRefusedModulesAreNotKept: an upload that the engine refuses leaves nothing on the disk.
func TestRefusedModulesAreNotKept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r, err := New(t.Context(), Config{CacheDir: dir})
	require.NoError(t, err)
	defer func() { require.NoError(t, r.Close(t.Context())) }()
	data := bytes.Repeat([]byte{1}, preparedSize)
	_, err = r.Compile(
		t.Context(),
		wasmtest.Module{Data: data, Start: wasmtest.Join(wasmtest.I32Const(1), wasmtest.I32Const(1))}.Assemble(),
	)
	require.Equal(t, abi.CodeNotWasm, abi.CodeOf(err), "it leaves two values where it may leave one")
	files, err := filepath.Glob(filepath.Join(dir, preparedDir, "*"))
	require.NoError(t, err)
	require.Empty(t, files)
}

// TestPreparedFile: large modules are kept, each under its own name, if there is a cache.
func TestPreparedFile(t *testing.T) {
	t.Parallel()
	r, err := New(t.Context(), Config{CacheDir: t.TempDir()})
	require.NoError(t, err)
	defer func() { require.NoError(t, r.Close(t.Context())) }()
	require.NotEqual(t, r.preparedFile("a", preparedSize), r.preparedFile("b", preparedSize))
	require.Empty(t, r.preparedFile("a", preparedSize-1), "a small one is made as quickly as it is read")
	without, err := New(t.Context(), Config{})
	require.NoError(t, err)
	defer func() { require.NoError(t, without.Close(t.Context())) }()
	require.Empty(t, without.preparedFile("a", preparedSize), "there is no cache")
}
