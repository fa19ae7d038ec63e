package devloop

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestScanLeavesOutWhatToolsWrite(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	write(t, folder, map[string]string{
		"main.go":             "a",
		"inner/b.sql":         "b",
		".git/HEAD":           "",
		"main.go~":            "",
		".main.go.swp":        "",
		"#main.go#":           "",
		"out.wasm":            "",
		"target/CACHEDIR.TAG": "",
		"target/debug/x.rs":   "",
		"node_modules/x.js":   "",
		"cruster-data/db":     "",
	})
	require.NoError(t, os.Symlink("nowhere", filepath.Join(folder, "broken")))
	require.NoError(t, os.Symlink("inner/b.sql", filepath.Join(folder, "link")))
	files, err := scan(folder, []string{filepath.Join(folder, "cruster-data")})
	require.NoError(t, err)
	var paths []string
	for _, f := range files {
		paths = append(paths, f.path)
	}
	require.Equal(t, []string{"/inner/b.sql", "/link", "/main.go"}, paths)

	_, err = scan(filepath.Join(folder, "none"), nil)
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestScanIsBounded(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for i := range maxFiles + 1 {
		require.NoError(t, os.WriteFile(filepath.Join(folder, fmt.Sprint(i)), nil, 0o600))
	}
	_, err := scan(folder, nil)
	require.ErrorContains(t, err, "more than 20000 files: watch the folder of the module alone")
}

func TestContentIsWhatCounts(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	write(t, folder, map[string]string{"main.go": "a", "b.go": "b"})
	look := func() (tree, content) {
		files, err := scan(folder, nil)
		require.NoError(t, err)
		return files, files.read(folder)
	}
	files, first := look()

	later := time.Now().Add(time.Hour)
	require.NoError(t, os.Chtimes(filepath.Join(folder, "main.go"), later, later))
	touched, second := look()
	require.False(t, touched.equal(files))
	require.Equal(t, first, second, "a touched file has the same content")

	write(t, folder, map[string]string{"main.go": "c"})
	_, third := look()
	require.NotEqual(t, first, third)
	require.NoError(t, os.Rename(filepath.Join(folder, "main.go"), filepath.Join(folder, "c.go")))
	_, fourth := look()
	require.NotEqual(t, third, fourth, "a name is content too")

	require.NoError(t, os.Truncate(filepath.Join(folder, "b.go"), maxContent+1))
	_, large := look()
	require.NoError(t, os.Chtimes(filepath.Join(folder, "b.go"), later, later))
	_, later2 := look()
	require.NotEqual(t, large, later2, "a large file is compared by its time")
}
