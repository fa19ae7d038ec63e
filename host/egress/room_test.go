package egress

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

// take takes room in a goroutine of its own, whose error is there once it has or is left out.
func take(ctx context.Context, s *share, n int64) <-chan error {
	taken := make(chan error, 1)
	go func() {
		err := s.take(ctx, n)
		if err != nil {
			s.leave()
		}
		taken <- err
	}()
	synctest.Wait()
	return taken
}

func requireWaiting(t *testing.T, all ...<-chan error) {
	t.Helper()
	for _, taken := range all {
		require.Empty(t, taken, "it does not wait")
	}
}

func TestRoomOfOneThatBreaksIsForThoseThatWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRoom(100, true)
		large, b, c := &share{room: r}, &share{room: r}, &share{room: r}
		require.NoError(t, <-take(t.Context(), large, 90))
		waitsB, waitsC := take(t.Context(), b, 20), take(t.Context(), c, 30)
		requireWaiting(t, waitsB, waitsC)
		large.leave()
		require.NoError(t, <-waitsB)
		require.NoError(t, <-waitsC)
	})
}

func TestRoomOfOneThatIsThereStaysTaken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRoom(100, true)
		large, b, c := &share{room: r}, &share{room: r}, &share{room: r}
		require.NoError(t, <-take(t.Context(), large, 90))
		waitsB, waitsC := take(t.Context(), b, 20), take(t.Context(), c, 5)
		requireWaiting(t, waitsB)
		require.NoError(t, <-waitsC)
		large.read()
		synctest.Wait()
		requireWaiting(t, waitsB) // for c
		c.read()
		require.ErrorIs(t, <-waitsB, errNoRoom)
	})
}

// If all wait, the largest is left out, and no more than is needed.
func TestTheLargestIsLeftOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRoom(100, true)
		a, b, c := &share{room: r}, &share{room: r}, &share{room: r}
		require.NoError(t, <-take(t.Context(), a, 40))
		require.NoError(t, <-take(t.Context(), b, 30))
		require.NoError(t, <-take(t.Context(), c, 30))
		waitsC, waitsA := take(t.Context(), c, 20), take(t.Context(), a, 20)
		requireWaiting(t, waitsC, waitsA)
		waitsB := take(t.Context(), b, 20)
		require.ErrorIs(t, <-waitsA, errNoRoom)
		require.NoError(t, <-waitsB)
		require.NoError(t, <-waitsC)
	})
}

func TestOneThatIsTooLargeOnItsOwnDoesNotWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRoom(100, true)
		a, b := &share{room: r}, &share{room: r}
		require.NoError(t, <-take(t.Context(), a, 60))
		require.NoError(t, <-take(t.Context(), b, 30))
		require.ErrorIs(t, <-take(t.Context(), a, 41), errNoRoom)
		require.NoError(t, <-take(t.Context(), b, 70), "it has given back all")
	})
}

func TestWaitingForRoomEndsWithTheCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRoom(100, true)
		a, b := &share{room: r}, &share{room: r}
		require.NoError(t, <-take(t.Context(), a, 60))
		ctx, cancel := context.WithCancel(t.Context())
		waits := take(ctx, b, 50)
		requireWaiting(t, waits)
		cancel()
		require.ErrorIs(t, <-waits, context.Canceled)
		require.NoError(t, <-take(t.Context(), a, 40))
	})
}
