package request

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/journal"
)

// TestInboxLocks has senders share a lock, and a run wait for them and they for it, in the order in which they came.
func TestInboxLocks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var l InboxLocks
		id, other := journal.ID{1}, journal.ID{2}
		before, first, err := l.Share(t.Context(), id)
		require.NoError(t, err)
		_, second, err := l.Share(t.Context(), id)
		require.NoError(t, err)
		_, free := l.TryExclude(id)
		require.False(t, free)

		var order []string
		later := func(name string, acquire func(context.Context, journal.ID) (uint64, func(), error)) {
			if reading, release, err := acquire(t.Context(), id); err == nil && reading > before {
				order = append(order, name)
				release()
			}
		}
		go later("run", l.ExcludeToRead)
		synctest.Wait()
		go later("third sender", l.Share) // it is told of the reading that it waited for
		synctest.Wait()
		_, of, err := l.Share(t.Context(), other)
		require.NoError(t, err, "each execution has a lock of its own")
		of()
		given, cancel := context.WithCancel(t.Context())
		cancel()
		_, err = l.Exclude(given, id)
		require.ErrorIs(t, err, context.Canceled)
		first()
		synctest.Wait()
		require.Empty(t, order)
		second()
		synctest.Wait()
		require.Equal(t, []string{"run", "third sender"}, order)
		release, free := l.TryExclude(id)
		require.True(t, free)
		release()
		require.Empty(t, l.all, "none is left")
	})
}
