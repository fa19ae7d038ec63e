package cli

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestVersion(t *testing.T) {
	t.Parallel()
	require.Equal(t, "v1.2.3", version("v1.2.3"))
	require.NotEmpty(t, version(""), "an unreleased binary says so")
}
