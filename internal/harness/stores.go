package harness

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/internal/pgtest"
	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/journal/postgres"
	"github.com/cruster/cruster/journal/sqlite"
)

// StoreKinds are the kinds of store that a host can run on.
var StoreKinds = []string{"sqlite", "postgres"}

// Store opens an empty store of a kind; it is closed when the test ends. Test packages that use it call pgtest.Main
// from TestMain.
func Store(t testing.TB, kind string) journal.Store {
	t.Helper()
	var store journal.Store
	var err error
	switch kind {
	case "sqlite":
		store, err = sqlite.Open(t.Context(), sqlite.Config{Dir: t.TempDir(), Logger: Logger(t)})
	case "postgres":
		store, err = postgres.Open(t.Context(), postgres.Config{
			DSN: pgtest.DSN(t), Schema: pgtest.Emptied(t), Logger: Logger(t),
		})
	default:
		t.Fatalf("there is no store of kind %q", kind)
	}
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	return store
}

// EachStore runs a test on every kind of store.
func EachStore(t *testing.T, test func(t *testing.T, store journal.Store)) {
	for _, kind := range StoreKinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			test(t, Store(t, kind))
		})
	}
}
