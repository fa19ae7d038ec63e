package terminal_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/cmd/cruster-host/internal/terminal"
)

func TestOneLineKeepsControlCharactersOut(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                      "-",
		"plain":                 "plain",
		"a\nb\x1b[31mc":         "a b [31mc",
		"tab\there, bell\x07":   "tab here, bell ",
		"delete\x7f, csi\u009b": "delete , csi ",
		"ä → ✓":                 "ä → ✓",
	} {
		require.Equal(t, want, terminal.OneLine(text), "%q", text)
	}
}

func TestClipCountsCharacters(t *testing.T) {
	t.Parallel()
	require.Equal(t, "äöü", terminal.Clip("äöü", 3))
	require.Equal(t, "äö…", terminal.Clip("äöüß", 3))
	require.Empty(t, terminal.Clip("", 3))
}

func TestQuoteWord(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a/B/c-1":         "a/B/c-1",
		"127.0.0.1:7600":  "127.0.0.1:7600",
		"":                "''",
		"it's $HOME":      `'it'\''s $HOME'`,
		`{"id":"42"}`:     `'{"id":"42"}'`,
		"ä":               "'ä'",
		"a;rm -rf /\nb&c": "'a;rm -rf /\nb&c'",
	} {
		require.Equal(t, want, terminal.QuoteWord(text))
	}
}

func TestYesNo(t *testing.T) {
	t.Parallel()
	require.Equal(t, "yes", terminal.YesNo(true))
	require.Equal(t, "no", terminal.YesNo(false))
}
