package abi

import (
	"regexp"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestClampText(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(
			rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }),
		).Draw(t, "text")
		most := rapid.IntRange(8, 40).Draw(t, "most")
		got := clampText(text, most)
		require.True(t, utf8.ValidString(got), "%q", got)
		if utf8.ValidString(text) {
			require.LessOrEqual(t, len(got), most)
			if len(text) <= most {
				require.Equal(t, text, got)
			}
		}
	})
}

func TestCodesAreWellFormed(t *testing.T) {
	t.Parallel()
	form := regexp.MustCompile(`^CR-[0-9]{4}$`)
	rapid.Check(t, func(t *rapid.T) {
		code := rapid.OneOf(
			rapid.StringMatching(`CR-[0-9]{3,5}`), rapid.StringMatching(`[CR]{1,2}-?[0-9a٣]{4}\n?`), rapid.String(),
		).Draw(t, "code")
		require.Equal(t, form.MatchString(code), Code(code).wellFormed(), "%q", code)
	})
}
