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

// another is a module with another workflow than newTestEngine has.
var another = wasmtest.Program{
	Manifest: &abi.Manifest{Workflows: []abi.WorkflowInfo{{Name: "Other", Key: abi.KeyFromRequest}}},
}.Assemble()

// A host whose shards were taken over deploys nothing, starts nothing from its caches, and ends.
func TestAFormerOwnerDeploysNothing(t *testing.T) {
	t.Parallel()
	store := memory.New()
	former := newTestEngine(t, store)
	heir := newTestEngine(t, store) // its push is the second
	_, err := former.Deployments().Push(t.Context(), PushRequest{Name: "tiny", Binary: another})
	require.Equal(t, abi.CodeFenced, abi.CodeOf(err), "%v", err)
	require.Equal(t, abi.CodeFenced, abi.CodeOf(former.Lost()))
	d, err := heir.Deployments().Describe(t.Context(), DefaultNamespace, "tiny")
	require.NoError(t, err)
	require.EqualValues(t, 2, d.Version)
	require.Equal(t, "W", d.Manifest.Workflows[0].Name)
	_, _, err = heir.Launcher().Start(t.Context(), StartRequest{Workflow: "tiny/W", Key: "a", KeyMode: abi.KeyRaw})
	require.NoError(t, err)
	_, _, err = former.Launcher().Start(t.Context(), StartRequest{Workflow: "tiny/W", Key: "b", KeyMode: abi.KeyRaw})
	require.Equal(t, abi.CodeFenced, abi.CodeOf(err), "%v", err)
}

// Reads of a host before it took over do not outlive the claim.
func TestATakeoverSeesEveryEarlierPush(t *testing.T) {
	t.Parallel()
	store := memory.New()
	owner := newTestEngine(t, store)
	heir, err := New(Config{Store: store, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, heir.Stop(context.Background())) })
	d, err := heir.Deployments().Describe(t.Context(), DefaultNamespace, "tiny")
	require.NoError(t, err)
	require.EqualValues(t, 1, d.Version)

	_, err = owner.Deployments().Push(t.Context(), PushRequest{Name: "tiny", Binary: another})
	require.NoError(t, err)
	require.NoError(t, heir.Start(t.Context()))
	d, err = heir.Deployments().Describe(t.Context(), DefaultNamespace, "tiny")
	require.NoError(t, err)
	require.EqualValues(t, 2, d.Version)
	_, _, err = heir.Launcher().Start(t.Context(), StartRequest{Workflow: "tiny/Other", Key: "a", KeyMode: abi.KeyRaw})
	require.NoError(t, err)
}

// Settings that an open execution may use are removed only if the caller says so.
func TestSettingsOfOpenExecutions(t *testing.T) {
	t.Parallel()
	e := newTestEngine(t, memory.New()) // it has pushed "tiny"
	push := func(s Settings) error {
		_, err := e.Deployments().Push(t.Context(), PushRequest{Name: "tiny", Binary: waiting, Settings: s})
		return err
	}
	require.NoError(t, push(Settings{Config: map[string]string{"a": "1", "b": "2"}, AllowHTTP: []string{"x.com"}}))
	require.NoError(t, push(Settings{UnsetConfig: []string{"a"}}), "none is open")
	row, _, err := e.Launcher().Start(t.Context(), StartRequest{Workflow: "tiny/W", Key: "k", KeyMode: abi.KeyRaw})
	require.NoError(t, err)
	require.NoError(t, push(Settings{}), "all stays as it is")
	for _, s := range []Settings{
		{UnsetConfig: []string{"b"}}, {RevokeHTTP: []string{"x.com"}}, {ReplaceConfig: true}, {ReplaceHTTP: true},
	} {
		err := push(s)
		require.Equal(t, abi.CodeSettingsInUse, abi.CodeOf(err), "%+v: %v", s, err)
		require.ErrorContains(t, err, row.Name())
	}
	require.NoError(t, push(Settings{RevokeHTTP: []string{"x.com"}, Anyway: true}))
}
