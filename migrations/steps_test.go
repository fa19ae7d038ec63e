package migrations

import (
	"io/fs"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

// TestSteps: every file is a step, in the order of the numbers that their names begin with.
func TestSteps(t *testing.T) {
	t.Parallel()
	for folder, files := range map[string]fs.FS{"postgres": Postgres, "sqlite": SQLite} {
		all, err := fs.Glob(files, folder+"/*")
		require.NoError(t, err)
		steps, err := Steps(files)
		require.NoError(t, err)
		require.Len(t, steps, len(all))
		for i, step := range steps {
			require.EqualValues(t, i+1, step.Version)
		}
		require.EqualValues(t, len(all), Latest(steps))
	}
	for name, content := range map[string]string{
		"a/1_none.sql": "CREATE TABLE t (n INT);", "a/one.sql": "-- +goose Up\n",
	} {
		_, err := Steps(fstest.MapFS{name: {Data: []byte(content)}})
		require.ErrorContains(t, err, name)
	}
}

func TestUp(t *testing.T) {
	t.Parallel()
	up, err := upOf("-- +goose Up\nCREATE TABLE t (n INT);\n\n-- +goose Down\nDROP TABLE t;\n")
	require.NoError(t, err)
	require.Equal(t, "CREATE TABLE t (n INT);\n\n", up)
}
