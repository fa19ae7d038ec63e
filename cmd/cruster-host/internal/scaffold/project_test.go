package scaffold

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// clone is a folder with the files that `new` looks for in a clone of the source.
func clone(t *testing.T, name string) string {
	t.Helper()
	root := filepath.Join(t.TempDir(), name)
	for _, file := range sdkFile {
		require.NoError(t, os.MkdirAll(filepath.Join(root, filepath.Dir(file)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(root, file), nil, 0o644))
	}
	for _, file := range []string{"go.mod", "go.sum"} {
		require.NoError(
			t, os.WriteFile(filepath.Join(root, file), []byte(read(t, "..", "..", "..", "..", file)), 0o644),
		)
	}
	return root
}

// newIn makes the project of a language in a folder.
func newIn(t *testing.T, folder, language, sdk string) *Project {
	t.Helper()
	p, err := New(Request{Clone: sdk, Language: language, Name: filepath.Base(folder), Parent: filepath.Dir(folder)})
	require.NoError(t, err)
	require.NoError(t, p.Write())
	return p
}

func read(t *testing.T, parts ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(parts...))
	require.NoError(t, err)
	return string(text)
}

func TestProjectsAreComplete(t *testing.T) {
	t.Parallel()
	want := map[string][]string{
		"go":   {".gitignore", "README.md", "go.mod", "main.go", "main_test.go"},
		"rust": {".gitignore", "Cargo.toml", "README.md", "src/lib.rs", "src/tests.rs"},
	}
	for _, language := range Languages {
		folder := filepath.Join(t.TempDir(), "hello-world")
		p := newIn(t, folder, language, "")
		require.ElementsMatch(t, want[language], p.Files)
		for _, file := range p.Files {
			text := read(t, folder, file)
			require.NotEmpty(t, text)
			require.NotContains(t, text, "{{.", "%s: a template is left", file)
			require.NotContains(t, text, "<no value>", file)
		}
		require.Contains(t, read(t, folder, "README.md"), "hello-world/Greet")
		left, err := os.ReadDir(filepath.Dir(folder))
		require.NoError(t, err)
		require.Len(t, left, 1, "no draft stays")
	}
}

func TestProjectsFindTheSDK(t *testing.T) {
	t.Parallel()
	published := filepath.Join(t.TempDir(), "p")
	newIn(t, published, "go", "")
	require.Contains(
		t, read(t, published, "go.mod"), "require github.com/cruster/cruster/guest-sdk/go v"+unreleasedSDK+"\n",
	)
	require.NotContains(t, read(t, published, "go.mod"), "replace")

	sdk := clone(t, "my clone")
	local := filepath.Join(t.TempDir(), "p")
	newIn(t, local, "go", sdk)
	require.Contains(t, read(t, local, "go.mod"), `github.com/cruster/cruster/guest-sdk/go => "`+sdk+`/guest-sdk/go"`)
	require.Contains(t, read(t, local, "go.mod"), `github.com/cruster/cruster/abi => "`+sdk+`/abi"`)
	require.Equal(t, read(t, sdk, "go.sum"), read(t, local, "go.sum"))

	crate := filepath.Join(t.TempDir(), "p")
	newIn(t, crate, "rust", sdk)
	require.Contains(t, read(t, crate, "Cargo.toml"), `cruster = { path = "`+sdk+`/guest-sdk/rust/cruster" }`)
	require.Contains(t, read(t, crate, "README.md"), `'`+sdk+`/scripts/rust.sh' cargo build`)

	// By its repository: in the public registry the name belongs to another's crate.
	tagged := filepath.Join(t.TempDir(), "p")
	newIn(t, tagged, "rust", "")
	require.Contains(
		t, read(t, tagged, "Cargo.toml"),
		`cruster = { git = "https://github.com/cruster/cruster", tag = "v`+unreleasedSDK+`" }`,
	)
}

func TestRequestsAreChecked(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		req  Request
		want string
	}{
		"Name":     {Request{Name: "No", Language: "go"}, `"No" cannot be the name of a project`},
		"Missing":  {Request{Name: "x"}, "--lang is missing: choose go or rust"},
		"Language": {Request{Name: "x", Language: "cobol"}, `there is no language "cobol": choose go or rust`},
		"Clone": {
			Request{Name: "x", Language: "go", Clone: "nowhere"},
			"--sdk: nowhere is not a clone of Cruster: it has no guest-sdk/go/go.mod",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := New(tc.req)
			require.ErrorContains(t, err, tc.want)
			require.True(t, isMistake(err))
		})
	}
}
