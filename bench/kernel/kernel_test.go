package kernel_test

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/bench/kernel"
)

// The guest in Rust is held to the same number by its own test.
func TestSum(t *testing.T) {
	t.Parallel()
	want, err := os.ReadFile("testdata/sum-of-3")
	require.NoError(t, err)
	require.Equal(t, strings.TrimSpace(string(want)), strconv.FormatUint(kernel.Sum(3), 10))
}
