package sqlite

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

func TestLockDir(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first, err := lockDir(dir)
	require.NoError(t, err)
	_, err = lockDir(dir)
	require.ErrorIs(t, err, journal.ErrInUse)
	require.Equal(t, abi.CodeStoreInUse, abi.CodeOf(err))
	require.NoError(t, first.Close())

	again, err := lockDir(dir)
	require.NoError(t, err, "the file that is left does not count, only the lock")
	require.NoError(t, again.Close())
	_, err = lockDir(filepath.Join(dir, "missing"))
	require.ErrorContains(t, err, "open lock file")
}
