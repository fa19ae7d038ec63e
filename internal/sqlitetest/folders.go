package sqlitetest

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/journal/sqlite"
)

// Folders makes data folders with a store in each that was never used: copies of a single store.
// All migrations of a new store take longer than a random test's own work.
func Folders(t testing.TB) (fresh func(t testing.TB) (dir string)) {
	t.Helper()
	first := t.TempDir()
	store, err := sqlite.Open(t.Context(), sqlite.Config{Dir: first, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	require.NoError(t, store.Close())
	database, err := os.ReadFile(filepath.Join(first, sqlite.FileName))
	require.NoError(t, err)
	return func(t testing.TB) string {
		t.Helper()
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, sqlite.FileName), database, 0o600))
		return dir
	}
}
