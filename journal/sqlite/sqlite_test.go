package sqlite_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/journal/sqlite"
	"github.com/cruster/cruster/journal/storetest"
)

func open(t testing.TB, config sqlite.Config) *sqlite.Store {
	store, err := sqlite.Open(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	return store
}

func harness(t *testing.T) storetest.Harness {
	dir := t.TempDir()
	return storetest.Harness{
		Durable: true,
		Guest:   true,
		// The limit is for modules; a slow machine must not run into it here.
		Open: func(t testing.TB) journal.Store {
			return open(t, sqlite.Config{Dir: dir, GuestTxLimit: time.Hour})
		},
	}
}

func TestConformance(t *testing.T) {
	t.Parallel()
	storetest.Run(t, harness)
}

func TestDifferential(t *testing.T) {
	t.Parallel()
	storetest.RunDifferential(t, harness)
}
