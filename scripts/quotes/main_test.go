package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	rust := write("a.rs", "fn f() {\n    g(\n        1,\n        2,\n    ); // why\n}\n\nfn h() {}\n")
	golang := write("a.go", "package a\n\nfunc F() { G(1, 2) }\n")
	python := write("a.py", "if a:\n    b()\nc()  # why\n")
	page := func(code string) []string {
		problems, err := check([]string{write("page.md", code)}, []string{rust, golang, python})
		require.NoError(t, err)
		return problems
	}

	require.Empty(t, page("text\n```rust\ng(1, 2); // because\n```\n"))
	require.Empty(t, page("```rust\nfn f() {\n    …\n}\nfn h() {}\n```\n"))
	require.Empty(t, page("```rust\n1, 2,\n```\n"), "a comma at its end")
	require.Empty(t, page("```go\nG(1, 2)\n```\n"))
	require.Empty(t, page("```go\npackage main\n```\n```\nanything\n```\n"))
	require.Empty(t, page("```python\n    b()\n…\nc()  # why\n```\n"))
	require.Len(t, page("```python\nb()\nc()\n```\n"), 1, "white space has a meaning")
	require.Len(t, page("```rust\ng(1, 3);\n```\n"), 1, "other code")
	require.Len(t, page("```rust\nG(1, 2)\n```\n"), 1, "of another language")
	require.Len(t, page("```rust\nfn h() {}\n…\nfn f() {\n```\n"), 1, "in another order")
	require.Equal(
		t, []string{filepath.Join(dir, "page.md") + ":3: no file has this code"}, page("a\nb\n```go\nH()\n```\n"),
	)

	_, err := check([]string{filepath.Join(dir, "none.md")}, nil)
	require.Error(t, err)
}
