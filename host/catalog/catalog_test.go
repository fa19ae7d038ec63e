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

// tinyModule is a module put together by hand, with a manifest of fewer than 64
// bytes: all its counts and lengths fit into one byte.
func tinyModule(manifest string) []byte {
	short := func(s string) string { return string([]byte{byte(len(s))}) + s }
	section := func(id byte, content string) string { return string([]byte{id}) + short(content) }
	answer := short("\x00\x41\x01\x0b") // i32.const 1
	describe := short("\x00\x41\x00\x41" + string([]byte{byte(len(manifest))}) + "\x10\x00\x0b")
	return []byte("\x00asm\x01\x00\x00\x00" +
		section(1, "\x04\x60\x00\x00\x60\x00\x01\x7f\x60\x01\x7f\x01\x7f\x60\x02\x7f\x7f\x00") +
		section(2, "\x01"+short("cruster")+short("output")+"\x00\x03") +
		section(3, "\x04\x01\x00\x02\x02") +
		section(5, "\x01\x00\x01") +
		section(7, "\x05"+short(abi.ExportABI)+"\x00\x01"+short(abi.ExportDescribe)+"\x00\x02"+
			short(abi.ExportStart)+"\x00\x03"+short(abi.ExportResume)+"\x00\x04"+short(abi.ExportMemory)+"\x02\x00") +
		section(10, "\x04"+answer+describe+answer+answer) +
		section(11, "\x01\x00\x41\x00\x0b"+short(manifest)))
}

var (
	noManifest  = tinyModule(string(abi.Nil))
	oneWorkflow = tinyModule("\x81\xa9workflows\x91\x82\xa3key\xa7request\xa4name\xa1W")
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
	_, err = store.Deploy(t.Context(), journal.Module{Digest: code.Digest(), Binary: oneWorkflow}, journal.Deployment{Namespace: "default", Name: "stored", Digest: code.Digest()}, nil)
	require.NoError(t, err)
	_, err = c.Push(t.Context(), PushRequest{Name: "undeployed", Binary: oneWorkflow}, 1)
	require.Equal(t, abi.CodeStore, abi.CodeOf(err), "%v", err)
	info, err := c.Describe(t.Context(), "default", "stored")
	require.NoError(t, err)
	require.Equal(t, "W", info.Manifest.Workflows[0].Name)
	require.NotNil(t, c.byDigest[code.Digest()])
}
