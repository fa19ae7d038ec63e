package postgres

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParamCache(t *testing.T) {
	t.Parallel()
	var c paramCache
	known := func(namespace, query string) bool {
		_, ok := c.get(namespace, query)
		return ok
	}
	require.False(t, known("a", "q"))
	c.put("a", "q", []uint32{1})
	c.put("a", "r", nil)
	c.put("ab", "q", []uint32{2})
	types, ok := c.get("a", "q")
	require.True(t, ok)
	require.Equal(t, []uint32{1}, types)

	c.drop("a", "q")
	require.False(t, known("a", "q"))
	require.True(t, known("a", "r"))
	c.forget("a")
	require.False(t, known("a", "r"))
	require.True(t, known("ab", "q"), "of another namespace")

	long := strings.Repeat("x", maxCachedStatement+1)
	c.put("a", long, nil)
	require.False(t, known("a", long))
	for i := range 2 * maxCachedStatements {
		c.put("a", strconv.Itoa(i), nil)
		require.LessOrEqual(t, len(c.types), maxCachedStatements)
	}
}
