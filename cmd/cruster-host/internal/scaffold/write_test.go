package scaffold

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A name taken by anything stays as it was.
func TestWriteReplacesNothing(t *testing.T) {
	t.Parallel()
	for name, take := range map[string]func(path string) error{
		"folder": func(path string) error { return os.Mkdir(path, 0o755) },
		"file":   func(path string) error { return os.WriteFile(path, nil, 0o644) },
		"link":   func(path string) error { return os.Symlink("nowhere", path) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			require.NoError(t, take(filepath.Join(dir, name)))
			p, err := New(Request{Language: "go", Name: name, Parent: dir})
			require.NoError(t, err)
			err = p.Write()
			require.ErrorContains(t, err, "exists: nothing was written")
			require.True(t, isMistake(err))
			require.Empty(t, p.Files)
			entries, err := os.ReadDir(dir)
			require.NoError(t, err)
			require.Len(t, entries, 1)
			require.NoFileExists(t, filepath.Join(dir, name, "go.mod"))
		})
	}
}

func TestFoldersThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	p, err := New(Request{Language: "go", Name: "x", Parent: filepath.Join(t.TempDir(), "missing")})
	require.NoError(t, err)
	err = p.Write()
	require.ErrorContains(t, err, "cannot write the project: ")
	require.True(t, isMistake(err))
}
