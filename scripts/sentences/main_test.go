package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSentences(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"One. Two? Three! four":                             {"One.", "Two?", "Three! four"},
		"A file. `a.go` is one. gRPC is another.":           {"A file.", "`a.go` is one.", "gRPC is another."},
		"Version 1.2 has e.g. Go, i.e. all... of it.":       {"Version 1.2 has e.g. Go, i.e. all... of it."},
		"Call `f(a. B)` or `./...` and wait. Then go on.":   {"Call `f(a. B)` or `./...` and wait.", "Then go on."},
		"It stays (in brackets. Always). See [a. B](c.md).": {"It stays (in brackets. Always).", "See [a. B](c.md)."},
		"It is \"done.\" And (it is.) And so. (They are.) A": {
			"It is \"done.\"", "And (it is.)", "And so.", "(They are.)", "A",
		},
		"**A head.** A sentence. **Bold.** Another.":        {"**A head.** A sentence.", "**Bold.**", "Another."},
		"Up to 3. 4. A line begins with no mark. - Not so.": {"Up to 3. 4.", "A line begins with no mark. - Not so."},
		"": nil,
	} {
		require.Equal(t, want, sentences(text), text)
	}
}

func TestWrap(t *testing.T) {
	t.Parallel()
	for page, want := range map[string]string{
		"# A. B.\nOne. Two\nends. \n\nThree. Four.\n": "# A. B.\nOne.\nTwo ends.\n\nThree.\nFour.\n",
		"- One. Two.\n- Three\n  ends. Four.\n":       "- One.\n  Two.\n- Three ends.\n  Four.\n",
		"10. One. Two.\n\n    Three. Four.\n":         "10. One.\n    Two.\n\n    Three.\n    Four.\n",
		"> One. Two.\n> - Three. Four.\n":             "> One.\n> Two.\n> - Three.\n>   Four.\n",
		"One. Two\\\nthree. Four.\n":                  "One.\nTwo\\\nthree.\nFour.\n",
	} {
		require.Equal(t, want, wrap(page))
		require.Equal(t, want, wrap(want))
	}
	for _, page := range []string{
		"| A. B. | C. D. |\n| --- | --- |\n",
		"```go\n// One. Two.\n```\n\n  ```\n  One. Two.\n  ```\n",
		"    One. Two.\n\n[a]: b.md \"One. Two.\"\n<b>One. Two.</b>\n---\n",
		"<!-- begin part -->\n1. One. Two.\n<!-- end part -->\n",
	} {
		require.Equal(t, page, wrap(page))
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	page := filepath.Join(t.TempDir(), "page.md")
	require.NoError(t, os.WriteFile(page, []byte("Zero.\nOne. Two.\n"), 0o600))
	problems, err := check([]string{page}, false)
	require.NoError(t, err)
	require.Equal(t, []string{page + ":2: not one sentence a line: One. Two."}, problems)

	problems, err = check([]string{page}, true)
	require.NoError(t, err)
	require.Empty(t, problems)
	problems, err = check([]string{page}, false)
	require.NoError(t, err)
	require.Empty(t, problems)

	_, err = check([]string{page + "none"}, false)
	require.Error(t, err)
}
