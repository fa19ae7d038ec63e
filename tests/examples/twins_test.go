package examples

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/internal/harness"
	"github.com/cruster/cruster/journal/memory"
)

// TestTwins: an example in Go and the one beside it in Rust say the same of themselves, so each
// can be deployed in the place of the other.
func TestTwins(t *testing.T) {
	t.Parallel()
	folders, err := filepath.Glob(filepath.Join(harness.Root(), "modules/examples/*/rust"))
	require.NoError(t, err)
	require.NotEmpty(t, folders)
	for _, folder := range folders {
		name := filepath.Base(filepath.Dir(folder))
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := harness.Engine(t, memory.New())
			harness.Push(t, e, "go", "modules/examples/"+name)
			harness.Push(t, e, "rust", "modules/examples/"+name+"/rust")
			inGo, err := e.Deployments().Describe(t.Context(), "", "go")
			require.NoError(t, err)
			inRust, err := e.Deployments().Describe(t.Context(), "", "rust")
			require.NoError(t, err)
			inGo.Manifest.SDK = inRust.Manifest.SDK
			require.Equal(t, inGo.Manifest, inRust.Manifest)
		})
	}
}
