package catalog

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/wasm"
	"github.com/cruster/cruster/host/wasm/binary/wasmtest"
	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/journal/memory"
)

// unfenced is a store in memory whose shards no host has claimed.
type unfenced struct{ *memory.Store }

func (s unfenced) Deploy(
	ctx context.Context, m journal.Module, d journal.Deployment, migrations []abi.Migration,
) (journal.Deployment, error) {
	return s.Store.Deploy(ctx, journal.Fence{}, m, d, migrations)
}

func newStore() unfenced { return unfenced{memory.New()} }

// newCatalog makes a catalog over a store, with a runtime of its own.
func newCatalog(t *testing.T, store Store) *Catalog {
	t.Helper()
	runtime, err := wasm.New(t.Context(), wasm.Config{Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, runtime.Close(context.Background())) })
	c := New(runtime, store)
	c.DefaultNamespace = "default"
	return c
}

var (
	noManifest  = wasmtest.Program{}.Assemble()
	oneWorkflow = wasmtest.Program{
		Manifest: &abi.Manifest{Workflows: []abi.WorkflowInfo{{Name: "W", Key: abi.KeyFromRequest}}},
	}.Assemble()
)

// requireForgotten checks that the runtime has dropped a module it had compiled before.
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

// TestRefusedModulesAreForgotten uploads a binary that compiles but is not acceptable, from several sides at a time.
func TestRefusedModulesAreForgotten(t *testing.T) {
	t.Parallel()
	c := newCatalog(t, newStore())
	code, err := c.runtime.Compile(t.Context(), noManifest)
	require.NoError(t, err)
	var all sync.WaitGroup
	errs := make([]error, 20)
	for i := range errs {
		all.Go(func() {
			_, errs[i] = c.Push(t.Context(), PushRequest{Name: "refused", Binary: noManifest}, at(1))
		})
	}
	all.Wait()
	for _, err := range errs {
		require.Equal(t, abi.CodeBadManifest, abi.CodeOf(err), "%v", err)
	}
	requireForgotten(t, c, code)
}

// TestSharedModulesAreKept: another engine may use a module that this one refuses.
func TestSharedModulesAreKept(t *testing.T) {
	t.Parallel()
	c := newCatalog(t, brokenDeploy{newStore()})
	c.Shared = true
	code, err := c.runtime.Compile(t.Context(), oneWorkflow)
	require.NoError(t, err)
	_, err = c.Push(t.Context(), PushRequest{Name: "undeployed", Binary: oneWorkflow}, at(1))
	require.Equal(t, abi.CodeStore, abi.CodeOf(err), "%v", err)
	inst, err := code.Instantiate(t.Context(), wasm.World{})
	require.NoError(t, err)
	require.NoError(t, inst.Close())
}

// TestDamagedModule: a module that differs from the pushed one does not run.
func TestDamagedModule(t *testing.T) {
	t.Parallel()
	store := newStore()
	digest := wasm.Digest(oneWorkflow)
	other := wasmtest.Program{
		Manifest: &abi.Manifest{Workflows: []abi.WorkflowInfo{{Name: "Other", Key: abi.KeyFromRequest}}},
	}.Assemble()
	_, err := store.Deploy(
		t.Context(), journal.Module{Digest: digest, Binary: other},
		journal.Deployment{Namespace: "default", Name: "damaged", Digest: digest}, nil,
	)
	require.NoError(t, err)
	c := newCatalog(t, store)
	_, err = c.Module(t.Context(), digest)
	require.Equal(t, abi.CodeHostFault, abi.CodeOf(err))
	require.ErrorContains(t, err, "what is stored as the module "+digest[:12]+" is damaged")
	require.Empty(t, c.byDigest)

	_, err = c.Push(t.Context(), PushRequest{Namespace: "default", Name: "damaged", Binary: oneWorkflow}, at(1))
	require.NoError(t, err, "the right one")
	_, err = newCatalog(t, store).Module(t.Context(), digest)
	require.NoError(t, err, "it has taken the place of the other")
}

// brokenDeploy is a store that deploys nothing.
type brokenDeploy struct{ Store }

func (brokenDeploy) Deploy(
	context.Context, journal.Module, journal.Deployment, []abi.Migration,
) (journal.Deployment, error) {
	return journal.Deployment{}, errors.New("the disk is full")
}

// TestUndeployedModulesAreForgotten uploads a good module that the store does not take.
func TestUndeployedModulesAreForgotten(t *testing.T) {
	t.Parallel()
	store := newStore()
	c := newCatalog(t, brokenDeploy{store})
	code, err := c.runtime.Compile(t.Context(), oneWorkflow)
	require.NoError(t, err)
	_, err = c.Push(t.Context(), PushRequest{Name: "undeployed", Binary: oneWorkflow}, at(1))
	require.Equal(t, abi.CodeStore, abi.CodeOf(err), "%v", err)
	requireForgotten(t, c, code)

	// A module that the store has is kept, whatever became of another upload.
	_, err = store.Deploy(t.Context(),
		journal.Module{Digest: code.Digest(), Binary: oneWorkflow},
		journal.Deployment{Namespace: "default", Name: "stored", Digest: code.Digest()}, nil)
	require.NoError(t, err)
	_, err = c.Push(t.Context(), PushRequest{Name: "undeployed", Binary: oneWorkflow}, at(1))
	require.Equal(t, abi.CodeStore, abi.CodeOf(err), "%v", err)
	info, err := c.Describe(t.Context(), "default", "stored")
	require.NoError(t, err)
	require.Equal(t, "W", info.Manifest.Workflows[0].Name)
	require.NotNil(t, c.byDigest[code.Digest()])
}

// lostDeploy is a store that deploys, and does not say so.
type lostDeploy struct{ unfenced }

func (s lostDeploy) Deploy(
	ctx context.Context, m journal.Module, d journal.Deployment, migrations []abi.Migration,
) (journal.Deployment, error) {
	if _, err := s.unfenced.Deploy(ctx, m, d, migrations); err != nil {
		return journal.Deployment{}, err
	}
	return journal.Deployment{}, journal.ErrUndecided
}

// A push whose answer was lost took effect: from then on it counts.
func TestAnUndecidedPushIsSeen(t *testing.T) {
	t.Parallel()
	store := newStore()
	c := newCatalog(t, store)
	_, err := c.Push(
		t.Context(),
		PushRequest{
			Namespace: "default",
			Name:      "d",
			Binary:    oneWorkflow,
			Settings:  Settings{Config: map[string]string{"n": "1"}},
		},
		at(1),
	)
	require.NoError(t, err)
	d, err := c.Deployment(t.Context(), "default", "d")
	require.NoError(t, err)
	require.Equal(t, "1", d.Config["n"])

	c.store = lostDeploy{store}
	_, err = c.Push(
		t.Context(),
		PushRequest{
			Namespace: "default",
			Name:      "d",
			Binary:    oneWorkflow,
			Settings:  Settings{Config: map[string]string{"n": "2"}},
		},
		at(1),
	)
	require.Equal(t, abi.CodeStore, abi.CodeOf(err), "%v", err)
	d, err = c.Deployment(t.Context(), "default", "d")
	require.NoError(t, err)
	require.Equal(t, "2", d.Config["n"])
}

// slowReads is a store that lets a test act between a read and its answer.
type slowReads struct {
	unfenced
	between func()
}

func (s slowReads) Deployment(ctx context.Context, namespace, name string) (*journal.Deployment, error) {
	d, err := s.unfenced.Deployment(ctx, namespace, name)
	s.between()
	return d, err
}

// A deployment read before deployments were forgotten is not cached after that.
func TestAReadThatIsOvertakenIsNotKept(t *testing.T) {
	t.Parallel()
	store := newStore()
	c := newCatalog(t, store)
	_, err := c.Push(
		t.Context(),
		PushRequest{
			Namespace: "default",
			Name:      "d",
			Binary:    oneWorkflow,
			Settings:  Settings{Config: map[string]string{"n": "1"}},
		},
		at(1),
	)
	require.NoError(t, err)
	c.ForgetDeployments()
	c.store = slowReads{store, func() {
		other := newCatalog(t, store)
		_, err := other.Push(
			t.Context(),
			PushRequest{
				Namespace: "default",
				Name:      "d",
				Binary:    oneWorkflow,
				Settings:  Settings{Config: map[string]string{"n": "2"}},
			},
			at(1),
		)
		require.NoError(t, err)
		c.ForgetDeployments()
	}}
	_, err = c.Deployment(t.Context(), "default", "d")
	require.NoError(t, err)
	c.store = store
	d, err := c.Deployment(t.Context(), "default", "d")
	require.NoError(t, err)
	require.Equal(t, "2", d.Config["n"])
}

// TestDigest completes beginnings of digests.
func TestDigest(t *testing.T) {
	t.Parallel()
	store := newStore()
	c := newCatalog(t, store)
	one, two := "ab1"+strings.Repeat("0", 61), "ab2"+strings.Repeat("0", 61)
	for _, digest := range []string{one, two} {
		_, err := store.Deploy(
			t.Context(), journal.Module{Digest: digest},
			journal.Deployment{Namespace: "default", Name: "d", Digest: digest}, nil,
		)
		require.NoError(t, err)
	}
	for prefix, want := range map[string]string{
		"ab1": one, one: one, two[:63]: two, strings.Repeat("c", 64): strings.Repeat("c", 64),
	} {
		got, err := c.Digest(t.Context(), prefix)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	_, err := c.Digest(t.Context(), "ab")
	require.Equal(t, abi.CodeBadRequest, abi.CodeOf(err), "several begin with it")
	_, err = c.Digest(t.Context(), "ac")
	require.Equal(t, abi.CodeModuleNotFound, abi.CodeOf(err))
	require.NotContains(t, abi.AsError(err).Hint, "resume", "no execution is missing its module")
}

// TestRecall has a module that cannot describe itself with the memory that a host allows: its executions find it, and
// a push of it is refused.
func TestRecall(t *testing.T) {
	t.Parallel()
	store := newStore()
	stored := journal.Module{
		Digest: wasm.Digest(noManifest),
		Binary: noManifest,
		Manifest: abi.MustMarshal(&abi.Manifest{
			Workflows: []abi.WorkflowInfo{{Name: "W", Key: abi.KeyFromRequest}},
		}),
	}
	_, err := store.Deploy(
		t.Context(), stored, journal.Deployment{Namespace: "default", Name: "d", Digest: stored.Digest}, nil,
	)
	require.NoError(t, err)
	c := newCatalog(t, store)
	for range 2 {
		m, err := c.Module(t.Context(), stored.Digest)
		require.NoError(t, err)
		require.Equal(t, "W", m.Manifest.Workflows[0].Name)
		inst, err := m.Code.Instantiate(t.Context(), wasm.World{})
		require.NoError(t, err, "its code is kept")
		require.NoError(t, inst.Close())

		_, err = c.Push(t.Context(), PushRequest{Namespace: "default", Name: "d", Binary: noManifest}, at(1))
		require.Equal(t, abi.CodeBadManifest, abi.CodeOf(err), "%v", err)
	}
}
