package cli

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/journal/sqlite"
)

func TestMigratePrints(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		args         []string
		want, lacked string
	}{
		"Both":     {[]string{"migrate", "--print"}, "-- postgres/", ""},
		"SQLite":   {[]string{"migrate", "--print", "--store", "sqlite:x"}, "-- sqlite/", "-- postgres/"},
		"Postgres": {[]string{"migrate", "--print", "--store", "postgres://u@h/d"}, "-- postgres/", "-- sqlite/"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, stdout, stderr := invoke(t, tc.args...)
			require.Zero(t, code, stderr)
			require.Contains(t, stdout, tc.want)
			if tc.lacked != "" {
				require.NotContains(t, stdout, tc.lacked)
			}
		})
	}
}

func TestMigrateApplies(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "store")
	code, stdout, stderr := invoke(t, "migrate", "--store", "sqlite:"+dir)
	require.Zero(t, code, stderr)
	require.Equal(t, "migrated: sqlite\n", stdout)
	require.FileExists(t, filepath.Join(dir, "cruster.db"))

	code, _, stderr = invoke(t, "migrate")
	require.Equal(t, exitUsage, code)
	require.Contains(t, stderr, "--store is missing")
}

// TestMigrateAcceptsALostLog has a store whose log is missing be refused, with the command that accepts the loss.
func TestMigrateAcceptsALostLog(t *testing.T) {
	t.Parallel()
	running, copied := t.TempDir(), t.TempDir()
	store, err := sqlite.Open(t.Context(), sqlite.Config{Dir: running})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	content, err := os.ReadFile(filepath.Join(running, sqlite.FileName))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(copied, sqlite.FileName), content, 0o600))

	code, _, stderr := invoke(t, "migrate", "--store", "sqlite:"+copied)
	require.Equal(t, exitStoreGone, code)
	require.Contains(t, stderr, "CR-5014")
	require.Contains(t, stderr, "--accept-lost-log")
	code, _, stderr = invoke(t, "migrate", "--store", "sqlite:"+copied, "--accept-lost-log")
	require.Zero(t, code, stderr)
	code, _, stderr = invoke(t, "migrate", "--store", "sqlite:"+copied)
	require.Zero(t, code, stderr)
}
