package host_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/internal/harness"
	"github.com/cruster/cruster/journal"
)

// TestDescribeNamesParentsAndChildren describes both sides of a call.
func TestDescribeNamesParentsAndChildren(t *testing.T) {
	t.Parallel()
	harness.EachStore(t, func(t *testing.T, store journal.Store) {
		e := harness.Engine(t, store)
		child, parent := pausedChild(t, e)

		d, err := e.Describe(t.Context(), "", parent)
		require.NoError(t, err)
		require.Empty(t, d.ParentName)
		calls := 0
		for _, op := range d.Pending {
			if op.Kind != abi.OpCall {
				require.Nil(t, op.Callee)
				continue
			}
			calls++
			require.NotNil(t, op.Callee)
			require.Equal(t, child, op.Callee.Name())
			require.Equal(t, journal.Paused, op.Callee.State)
		}
		require.Equal(t, 1, calls)

		d, err = e.Describe(t.Context(), "", child)
		require.NoError(t, err)
		require.Equal(t, parent, d.ParentName)
	})
}
