package sqlite

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"zombiezen.com/go/sqlite"

	"github.com/cruster/cruster/journal"
)

func openInside(t *testing.T) *Store {
	store, err := Open(t.Context(), Config{Dir: t.TempDir()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	return store
}

// Whatever a transaction does, the next one finds the write handle free.
func TestWriteLeavesNoTransaction(t *testing.T) {
	t.Parallel()
	store := openInside(t)
	insert := func(conn *sqlite.Conn) error {
		return run(conn, "INSERT INTO cruster_meta (name, value) VALUES ('test', '1')", nil, nil)
	}
	failed := errors.New("failed")
	require.ErrorIs(
		t, store.write(t.Context(), func(conn *sqlite.Conn) error { return errors.Join(insert(conn), failed) }), failed,
	)
	require.Panics(t, func() {
		_ = store.write(t.Context(), func(conn *sqlite.Conn) error {
			require.NoError(t, insert(conn))
			panic("a bug")
		})
	})
	before := store.Commits()
	require.NoError(t, store.write(t.Context(), insert), "the other two were rolled back")
	require.Equal(t, before+1, store.Commits())
	err := store.write(t.Context(), insert)
	require.True(t, isConstraint(err), "%v", err)
}

func TestReadersAreLimited(t *testing.T) {
	t.Parallel()
	store := openInside(t)
	ctx, cancel := context.WithCancel(t.Context())
	var borrow func(depth int) error
	borrow = func(depth int) error {
		return store.read(ctx, func(*sqlite.Conn) error {
			if depth == store.config.MaxReaders {
				cancel()
			}
			return borrow(depth + 1)
		})
	}
	require.ErrorIs(t, borrow(1), context.Canceled, "a read waits for a handle until its context is done")
	require.Len(t, store.readers, store.config.MaxReaders, "all handles came back")
}

func TestClassify(t *testing.T) {
	t.Parallel()
	require.ErrorIs(t, classify(sqlite.ResultBusySnapshot.ToError()), journal.ErrConflict)
	require.ErrorIs(t, classify(sqlite.ResultLocked.ToError()), journal.ErrConflict)
	require.NotErrorIs(t, classify(sqlite.ResultIOErr.ToError()), journal.ErrConflict)
	require.ErrorIs(t, classify(sqlite.ResultFull.ToError()), journal.ErrFull)
	require.NoError(t, classify(nil))
}

// After a failure of the disk a ping commits, to see whether it works again.
func TestPingAfterTheDiskFailed(t *testing.T) {
	t.Parallel()
	store := openInside(t)
	before := store.Commits()
	require.NoError(t, store.Ping(t.Context()))
	require.Equal(t, before, store.Commits())
	store.diskFailed.Store(true)
	require.NoError(t, store.Ping(t.Context()))
	require.Equal(t, before+1, store.Commits())
	require.False(t, store.diskFailed.Load())
}
