package binary

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPlaces: a report decodes to itself, and any value that code reports has a meaning.
func TestPlaces(t *testing.T) {
	t.Parallel()
	require.Equal(t, Place{}, PlaceOf(unknownBlock))
	require.Equal(t, Place{Behind: 1}, PlaceOf(0))
	require.Equal(t, Place{Behind: 1 << 16}, PlaceOf(1<<16-1))
	for _, behind := range []int32{0, 1, 7, 1 << 16} {
		require.Equal(t, Place{Behind: uint64(behind), Empty: true}, PlaceOf(tellEntered(behind, true)))
		require.Equal(t, Place{Behind: uint64(behind), Empty: true, After: true}, PlaceOf(tellEntered(behind, false)))
	}
	require.Equal(t, Place{Behind: 1 << 31}, PlaceOf(math.MaxInt32))
	require.Equal(t, Place{Behind: 1<<30 - 1, Empty: true, After: true}, PlaceOf(math.MinInt32))
}
