package cli

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
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
