package binary

import (
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestVersion: every file whose code makes something of a module is part of the version.
func TestVersion(t *testing.T) {
	t.Parallel()
	files, err := fs.Glob(os.DirFS("."), "*.go")
	require.NoError(t, err)
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") || file == "doc.go" || file == "version.go" {
			continue
		}
		_, err := sources.Open(file)
		require.NoError(t, err, "add it to version.go")
	}
	require.Len(t, Version(), 64)
}
