package abi

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCheckKey(t *testing.T) {
	t.Parallel()
	for _, good := range []string{"a", "42", "order/7", "Grüße", "with space", strings.Repeat("k", MaxKey), "..", "'; --"} {
		require.NoError(t, CheckKey(good), good)
	}
	for name, bad := range map[string]string{
		"empty": "", "too long": strings.Repeat("k", MaxKey+1), "not UTF-8": "\xff", "a zero": "a\x00", "a newline": "a\nb", "an escape": "\x1b[0m", "a C1 control": "a\u0085b",
	} {
		require.Equal(t, CodeBadKey, CodeOf(CheckKey(bad)), name)
	}
}

func TestKeysOfActivities(t *testing.T) {
	t.Parallel()
	for _, good := range []string{"", "a", "order/7", "Grüße", strings.Repeat("k", MaxKey)} {
		require.Nil(t, checkOpKey(good), "%q", good)
	}
	for _, bad := range []string{strings.Repeat("k", MaxKey+1), "\xff", "a\x00", "a\nb", "\x1b[0m", "a\u0085b"} {
		refused := checkOpKey(bad)
		require.NotNil(t, refused, "%q", bad)
		require.Equal(t, CodeBadBody, refused.Code)
	}
}
