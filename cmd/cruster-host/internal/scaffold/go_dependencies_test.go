package scaffold

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// goClone is a clone with the given go.mod.
func goClone(t *testing.T, mod string) string {
	t.Helper()
	root := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(root, "go.mod"), []byte(mod), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(root, "go.sum"), []byte("sums"), 0o644))
	return root
}

func TestGoDependencies(t *testing.T) {
	t.Parallel()
	var mod strings.Builder
	mod.WriteString("module m\n\nrequire (\n\t" + goTestModule + " v1.2.3\n)\n\nrequire (\n")
	for _, path := range goIndirectModules {
		mod.WriteString("\t" + path + " v0.0.0-2024+x // indirect\n")
	}
	mod.WriteString(")\n")

	d, err := readGoDependencies(goClone(t, mod.String()))
	require.NoError(t, err)
	require.Equal(t, goModule{goTestModule, "v1.2.3"}, d.Test)
	require.Len(t, d.Indirect, len(goIndirectModules))
	require.Equal(t, goModule{goIndirectModules[0], "v0.0.0-2024+x"}, d.Indirect[0])
	require.Equal(t, "sums", string(d.sums))
}

func TestClonesOfOtherVersions(t *testing.T) {
	t.Parallel()
	_, err := readGoDependencies(goClone(t, "module m\n"))
	require.ErrorContains(
		t, err, "is not a clone of this version of Cruster: its go.mod does not require "+goTestModule,
	)
	require.True(t, isMistake(err))
	_, err = readGoDependencies(t.TempDir())
	require.True(t, isMistake(err))
}
