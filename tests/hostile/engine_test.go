package hostile

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host"
	"github.com/cruster/cruster/host/wasm"
	"github.com/cruster/cruster/internal/harness"
	"github.com/cruster/cruster/internal/leaktest"
	"github.com/cruster/cruster/internal/pgtest"
	"github.com/cruster/cruster/journal"
)

// TestMain fails if the tests leak goroutines.
func TestMain(m *testing.M) { os.Exit(leaktest.Check(pgtest.Main(m))) }

type object = map[string]any

// testBundle is an engine on an empty store.
type testBundle struct {
	engine *host.Engine
	store  journal.Store
}

func setup(t testing.TB, options ...func(*host.Config)) *testBundle {
	t.Helper()
	return setupOn(t, harness.Store(t, "sqlite"), options...)
}

func setupOn(t testing.TB, store journal.Store, options ...func(*host.Config)) *testBundle {
	t.Helper()
	return &testBundle{engine: harness.Engine(t, store, options...), store: store}
}

// push deploys a binary under a name.
func (b *testBundle) push(t testing.TB, name string, binary []byte) error {
	t.Helper()
	_, err := b.engine.Deployments().Push(t.Context(), host.PushRequest{Name: name, Binary: binary})
	return err
}

// pushRaw deploys tests/guests/raw, the guest that runs scripts.
func (b *testBundle) pushRaw(t testing.TB) {
	t.Helper()
	harness.Push(t, b.engine, "raw", "tests/guests/raw")
}

// requireRefused checks that an upload failed with this code and that nothing was stored.
func (b *testBundle) requireRefused(t testing.TB, err error, code abi.Code, name string, binary []byte) {
	t.Helper()
	requireCode(t, err, code)
	_, err = b.engine.Deployments().Describe(t.Context(), "", name)
	require.Equal(t, abi.CodeDeploymentNotFound, abi.CodeOf(err), "the deployment is there: %v", err)
	_, err = b.store.Module(t.Context(), wasm.Digest(binary))
	require.ErrorIs(t, err, journal.ErrNotFound, "the module was stored")
}

// requireNothingStored checks that there is no deployment at all.
func (b *testBundle) requireNothingStored(t testing.TB) {
	t.Helper()
	all, err := b.engine.Deployments().List(t.Context(), "")
	require.NoError(t, err)
	require.Empty(t, all)
}

// requireGoesOn runs an ordinary workflow.
func (b *testBundle) requireGoesOn(t testing.TB) {
	t.Helper()
	require.NoError(t, b.push(t, "ordinary", wellMade().binary()))
	require.Nil(t, harness.Execute[any](t, b.engine, "ordinary/W", nil))
	require.NoError(t, b.engine.Ready(t.Context()))
}

// requireCode checks that err carries this code, a message and a hint. No code means any that does not say that the
// host itself is broken.
func requireCode(t testing.TB, err error, code abi.Code) {
	t.Helper()
	require.Error(t, err)
	var coded *abi.Error
	require.ErrorAs(t, err, &coded, "an error without a code")
	require.NotEmpty(t, coded.Message)
	require.NotEmpty(t, coded.Hint, "%v", coded)
	require.Less(t, len(coded.Message), 20<<10, "the message repeats the whole input")
	if code != "" {
		require.Equal(t, code, coded.Code, "%v", err)
		return
	}
	require.NotEqual(t, abi.CodeInternal, coded.Code, "%v", err)
}

// requireEnd checks that an execution has ended or is paused, without an internal error. The guest may have written the
// error of a failed one.
func requireEnd(t testing.TB, row *journal.Execution) {
	t.Helper()
	switch row.State {
	case journal.Completed:
		require.Nil(t, row.Error)
	case journal.Failed:
		require.NotNil(t, row.Error)
		require.NotEmpty(t, row.Error.Code)
		require.NotEqual(t, abi.CodeInternal, row.Error.Code, "%v", row.Error)
	default:
		require.Equal(t, journal.Paused, row.State)
		requireCode(t, row.Error, "")
	}
}
