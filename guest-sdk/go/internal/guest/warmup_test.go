package guest

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestWarmUp runs to its end, and leaves nothing in the module.
func TestWarmUp(t *testing.T) {
	require.True(t, WarmUp())
	_, found := Default.Workflow("warm")
	require.False(t, found)
}
