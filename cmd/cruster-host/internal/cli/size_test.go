package cli

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSizes(t *testing.T) {
	t.Parallel()

	for text, want := range map[string]int64{
		"64MiB": 64 << 20, "32M": 32 << 20, "1GiB": 1 << 30, "2K": 2048, "1000": 1000,
	} {
		var s size
		require.NoError(t, s.Set(text))
		require.EqualValues(t, want, s)
	}
	for _, text := range []string{"", "lots", "-1", "0", "1TiB", "9223372036854775807GiB", "1.5M"} {
		var s size
		require.Error(t, s.Set(text), text)
	}
	s := size(64 << 20)
	require.Equal(t, "64MiB", s.String())
}
