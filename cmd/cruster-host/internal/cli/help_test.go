package cli

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func TestHelpFitsATerminal(t *testing.T) {
	t.Parallel()

	var visit func(args []string)
	visit = func(args []string) {
		code, help, _ := invoke(t, append(args, "--help")...)
		require.Zero(t, code, args)
		for line := range strings.Lines(help) {
			require.LessOrEqual(
				t, utf8.RuneCountInString(strings.TrimSuffix(line, "\n")), helpWidth, "%v: %s", args, line,
			)
		}
		for _, name := range subcommands(t, args) {
			visit(append(slices.Clone(args), name))
		}
	}
	visit(nil)
}

func TestWrapped(t *testing.T) {
	t.Parallel()
	for want, text := range map[string]string{
		"":                       "",
		"one":                    "one",
		"one two":                "one two",
		"one two\nthree":         "one two three",
		"a\nlonger-than-that\nb": "a longer-than-that b",
	} {
		require.Equal(t, want, wrapped(text, 8))
	}
}
