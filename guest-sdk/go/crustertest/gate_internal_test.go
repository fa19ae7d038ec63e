package crustertest

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
)

// A gate that is closed lets no one in. It waits for code inside, though not for ever.
func TestGate(t *testing.T) {
	t.Parallel()
	why := abi.Errorf(abi.CodeGuestTimeout, "late")
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		require.Nil(t, g.enter())
		g.leave()
		g.close(why)
		require.True(t, g.quiet)
		require.Equal(t, why, g.enter())

		g = newGate()
		require.Nil(t, g.enter())
		closed := make(chan struct{})
		go func() {
			defer close(closed)
			g.close(why)
		}()
		synctest.Wait()
		g.leave()
		<-closed
		require.True(t, g.quiet)
		require.Equal(t, why, g.enter())

		g = newGate()
		require.Nil(t, g.enter())
		g.close(why)
		require.False(t, g.quiet)
		g.leave()
		require.Equal(t, why, g.enter())
	})
}
