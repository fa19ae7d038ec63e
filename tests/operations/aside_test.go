package ops_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	client "github.com/cruster/cruster/clients/go"
	"github.com/cruster/cruster/internal/harness"
)

// A host has a large module compiled by a process of its own, and takes its output.
func TestLargeModulesAreCompiledByAnotherProcess(t *testing.T) {
	t.Parallel()
	cache := t.TempDir()
	p := harness.NewProcess(t, "sqlite:"+t.TempDir(), "--cache-dir", cache)
	p.Start()
	c, err := client.Dial(p.GRPC)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	_, err = c.Push(t.Context(), client.PushRequest{
		Name: "orders", Binary: harness.Module(t, "modules/examples/orders"),
	})
	require.NoError(t, err)
	notes, err := os.ReadDir(filepath.Join(cache, "notes"))
	require.NoError(t, err)
	require.Len(t, notes, 1)
	require.Zero(t, p.Terminate())
	require.NotContains(t, p.Log(), "compiled on one")
}
