package sqlitetest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/internal/sqlitetest"
	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/journal/sqlite"
)

// TestFolders opens two of the stores at the same time: neither has anything of the other.
func TestFolders(t *testing.T) {
	t.Parallel()
	fresh := sqlitetest.Folders(t)
	for range 2 {
		store, err := sqlite.Open(t.Context(), sqlite.Config{Dir: fresh(t)})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, store.Close()) })
		fences, err := store.ClaimShards(t.Context(), "test")
		require.NoError(t, err)
		require.Equal(t, journal.Epoch(1), fences[0].Epoch)
	}
}
