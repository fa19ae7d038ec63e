package abi

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLongJournals(t *testing.T) {
	t.Parallel()
	require.False(t, IsLong(199_999, MaxEntries))
	require.True(t, IsLong(200_000, MaxEntries))
}
