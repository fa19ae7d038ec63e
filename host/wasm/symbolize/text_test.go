package symbolize

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOneLine(t *testing.T) {
	t.Parallel()
	require.Equal(t, "a b .[31m c", OneLine("a\n\tb \x1b[31m  c\n", 100))
	require.Equal(t, "..", OneLine("\xff\x00", 100))
	require.Equal(t, "ab…", OneLine("abc", 2))
	require.Equal(t, "a…", OneLine("aé", 2), "a rune is not cut in two")
}
