package host

import (
	"context"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/wasm/binary/wasmtest"
	"github.com/cruster/cruster/journal/memory"
)

// another is a module with another workflow than that of newTestEngine.
var another = wasmtest.Program{
	Manifest: &abi.Manifest{Workflows: []abi.WorkflowInfo{{Name: "Other", Key: abi.KeyFromRequest}}},
}.Assemble()

// A host whose shards were taken over deploys nothing, starts nothing of what it
// remembers, and ends.
func TestAFormerOwnerDeploysNothing(t *testing.T) {
	t.Parallel()
	store := memory.New()
	former := newTestEngine(t, store)
	heir := newTestEngine(t, store) // its push is the second
	_, err := former.Push(t.Context(), PushRequest{Name: "tiny", Binary: another})
	require.Equal(t, abi.CodeFenced, abi.CodeOf(err), "%v", err)
	require.Equal(t, abi.CodeFenced, abi.CodeOf(former.Lost()))
	d, err := heir.Deployment(t.Context(), DefaultNamespace, "tiny")
	require.NoError(t, err)
	require.EqualValues(t, 2, d.Version)
	require.Equal(t, "W", d.Manifest.Workflows[0].Name)
	_, _, err = heir.StartWorkflow(t.Context(), StartRequest{Workflow: "tiny/W", Key: "a", KeyMode: abi.KeyRaw})
	require.NoError(t, err)
	_, _, err = former.StartWorkflow(t.Context(), StartRequest{Workflow: "tiny/W", Key: "b", KeyMode: abi.KeyRaw})
	require.Equal(t, abi.CodeFenced, abi.CodeOf(err), "%v", err)
}

// What a host read before it took over does not outlive the claim.
func TestATakeoverSeesEveryEarlierPush(t *testing.T) {
	t.Parallel()
	store := memory.New()
	owner := newTestEngine(t, store)
	heir, err := New(Config{Store: store, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, heir.Stop(context.Background())) })
	d, err := heir.Deployment(t.Context(), DefaultNamespace, "tiny")
	require.NoError(t, err)
	require.EqualValues(t, 1, d.Version)

	_, err = owner.Push(t.Context(), PushRequest{Name: "tiny", Binary: another})
	require.NoError(t, err)
	require.NoError(t, heir.Start(t.Context()))
	d, err = heir.Deployment(t.Context(), DefaultNamespace, "tiny")
	require.NoError(t, err)
	require.EqualValues(t, 2, d.Version)
	_, _, err = heir.StartWorkflow(t.Context(), StartRequest{Workflow: "tiny/Other", Key: "a", KeyMode: abi.KeyRaw})
	require.NoError(t, err)
}
