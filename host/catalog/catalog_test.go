package catalog

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/wasm"
	"github.com/cruster/cruster/host/wasm/binary/wasmtest"
	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/journal/memory"
)

// newCatalog makes a catalog over a store, with a runtime of its own.
func newCatalog(t *testing.T, store Store) *Catalog {
	t.Helper()
	runtime, err := wasm.New(t.Context(), wasm.Config{Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, runtime.Close(context.Background())) })
	return New(runtime, store)
}

var (
	noManifest  = wasmtest.Program{}.Assemble()
	oneWorkflow = wasmtest.Program{Manifest: &abi.Manifest{Workflows: []abi.WorkflowInfo{{Name: "W", Key: abi.KeyFromRequest}}}}.Assemble()
)

// requireForgotten checks that the runtime has dropped a module it had compiled
// before.
func requireForgotten(t *testing.T, c *Catalog, code *wasm.Module) {
	t.Helper()
	inst, err := code.Instantiate(t.Context(), wasm.World{})
	if err == nil {
		_ = inst.Close()
	}
	require.ErrorContains(t, err, "forgotten", "a module that was refused is still held in memory")
	c.mu.Lock()
	defer c.mu.Unlock()
	require.NotContains(t, c.byDigest, code.Digest())
}

// TestRefusedModulesAreForgotten uploads what compiles but is not acceptable,
// from several sides at a time.
func TestRefusedModulesAreForgotten(t *testing.T) {
	t.Parallel()
	c := newCatalog(t, memory.New())
	code, err := c.runtime.Compile(t.Context(), noManifest)
	require.NoError(t, err)
	var all sync.WaitGroup
	errs := make([]error, 20)
	for i := range errs {
		all.Go(func() {
			_, errs[i] = c.Push(t.Context(), PushRequest{Name: "refused", Binary: noManifest}, 1)
		})
	}
	all.Wait()
	for _, err := range errs {
		require.Equal(t, abi.CodeBadManifest, abi.CodeOf(err), "%v", err)
	}
	requireForgotten(t, c, code)
}

// brokenDeploy is a store that deploys nothing.
type brokenDeploy struct{ Store }

func (brokenDeploy) Deploy(context.Context, journal.Module, journal.Deployment, []abi.Migration) (journal.Deployment, error) {
	return journal.Deployment{}, errors.New("the disk is full")
}

// TestUndeployedModulesAreForgotten uploads a good module that the store does
// not take.
func TestUndeployedModulesAreForgotten(t *testing.T) {
	t.Parallel()
	store := memory.New()
	c := newCatalog(t, brokenDeploy{store})
	code, err := c.runtime.Compile(t.Context(), oneWorkflow)
	require.NoError(t, err)
	_, err = c.Push(t.Context(), PushRequest{Name: "undeployed", Binary: oneWorkflow}, 1)
	require.Equal(t, abi.CodeStore, abi.CodeOf(err), "%v", err)
	requireForgotten(t, c, code)

	// A module that the store has is kept, whatever became of another upload.
	_, err = store.Deploy(t.Context(),
		journal.Module{Digest: code.Digest(), Binary: oneWorkflow},
		journal.Deployment{Namespace: "default", Name: "stored", Digest: code.Digest()}, nil)
	require.NoError(t, err)
	_, err = c.Push(t.Context(), PushRequest{Name: "undeployed", Binary: oneWorkflow}, 1)
	require.Equal(t, abi.CodeStore, abi.CodeOf(err), "%v", err)
	info, err := c.Describe(t.Context(), "default", "stored")
	require.NoError(t, err)
	require.Equal(t, "W", info.Manifest.Workflows[0].Name)
	require.NotNil(t, c.byDigest[code.Digest()])
}
