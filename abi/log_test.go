package abi_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
)

func TestLog(t *testing.T) {
	t.Parallel()
	attrs := []abi.LogAttr{
		{"n", int64(1)}, {"text", "two words"}, {"empty", ""}, {"ok", true}, {"share", 0.5}, {"none", nil},
	}
	record := abi.EncodeLog("charged", attrs)
	text, got := abi.DecodeLog(record)
	require.Equal(t, "charged", text)
	require.Len(t, got, len(attrs))
	require.Equal(t, `charged n=1 text="two words" empty="" ok=true share=0.5 none=<nil>`, abi.LogText(record))

	require.Equal(t, "plain", string(abi.EncodeLog("plain", nil)))
	require.Equal(t, "no  tricks", string(abi.EncodeLog("no \x1etricks", nil)), "a text has no attributes in it")
}

// TestHostileLog: whatever a guest hands over, its text is there and its attributes are bounded.
func TestHostileLog(t *testing.T) {
	t.Parallel()
	whole := abi.EncodeLog("text", []abi.LogAttr{{"a", 1}, {"b", strings.Repeat("x", 100)}})
	for n := range len(whole) - 5 {
		text, attrs := abi.DecodeLog(whole[:5+n])
		require.Equal(t, "text", text)
		require.Empty(t, attrs, "it was cut off")
	}
	for _, tail := range []string{
		"\xdd\xff\xff\xff\xff", "\x92\xa1k\xdf\xff\xff\xff\xff", "\x92\xa1k\xdb\xff\xff\xff\xff",
		strings.Repeat("\x91", 60_000), "\x92\xa1k\xc1",
	} {
		text, attrs := abi.DecodeLog([]byte("text\x1e" + tail))
		require.Equal(t, "text", text)
		require.Empty(t, attrs)
	}
	many := make([]any, 0, 400)
	for range 200 {
		many = append(many, "k", map[string]any{"deep": []any{1}})
	}
	for _, list := range []any{many, []any{1, 2, "", 3, "k"}, map[string]any{"k": 1}, "no list"} {
		text, attrs := abi.DecodeLog(append([]byte("text\x1e"), abi.MustMarshal(list)...))
		require.Equal(t, "text", text)
		require.LessOrEqual(t, len(attrs), 64)
		for _, a := range attrs {
			require.IsType(t, "", a.Value)
		}
	}
}
