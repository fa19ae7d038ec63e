package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestProjectNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a", "orders", "order-7", strings.Repeat("a", maxProjectName)} {
		require.NoError(t, checkProjectName(name), name)
	}
	for _, name := range []string{"", "Orders", "7up", "-a", "a-", "a--b", "a_b", "a/b", "..", "a b", "ä", "a\n", "async", "std", "cruster",
		strings.Repeat("a", maxProjectName+1)} {
		require.Equal(t, exitUsage, exitCode(checkProjectName(name)), "%q", name)
	}
}

// clone is a folder with what `new` looks for in a clone of the source.
func clone(t *testing.T, name string) string {
	t.Helper()
	root := filepath.Join(t.TempDir(), name)
	for _, file := range sdkFile {
		require.NoError(t, os.MkdirAll(filepath.Join(root, filepath.Dir(file)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(root, file), nil, 0o644))
	}
	for _, file := range []string{"go.mod", "go.sum"} {
		require.NoError(t, os.WriteFile(filepath.Join(root, file), []byte(read(t, "..", "..", file)), 0o644))
	}
	return root
}

// newIn makes the project of a language in a folder, as from the command line
// but without a change of the process's current folder.
func newIn(t *testing.T, folder, language, sdk string) *project {
	t.Helper()
	p := &project{Name: filepath.Base(folder), Language: language, Folder: folder, Version: sdkVersion()}
	if sdk != "" {
		require.NoError(t, p.useClone(sdk))
	}
	require.NoError(t, p.write())
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
	for _, language := range languages {
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
		require.Len(t, left, 1, "a draft was left behind")
	}
}

func TestProjectsFindTheSDK(t *testing.T) {
	t.Parallel()
	published := filepath.Join(t.TempDir(), "p")
	newIn(t, published, "go", "")
	require.Contains(t, read(t, published, "go.mod"), "require github.com/cruster/cruster/guest-sdk/go v"+unreleasedSDK+"\n")
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

	// By its repository: in the public registry the name is that of another's crate.
	tagged := filepath.Join(t.TempDir(), "p")
	newIn(t, tagged, "rust", "")
	require.Contains(t, read(t, tagged, "Cargo.toml"), `cruster = { git = "https://github.com/cruster/cruster", tag = "v`+unreleasedSDK+`" }`)
}

func TestSDKPathsStayAsGiven(t *testing.T) {
	t.Parallel()
	here, err := os.Getwd()
	require.NoError(t, err)
	top := filepath.Join("..", "..") // the source that this test belongs to
	found, err := findSDK(top, filepath.Join(here, "p"), "go")
	require.NoError(t, err)
	require.Equal(t, "../../..", found)
	require.Equal(t, "../../../abi", (&project{SDK: found}).GoReplacement("abi"))
	require.Equal(t, "./sdk/guest-sdk/go", (&project{SDK: "sdk"}).GoReplacement("guest-sdk/go"))

	for _, bad := range []string{t.TempDir(), "/nowhere", "a\nb", `a"b`, "a`b"} {
		_, err := findSDK(bad, here, "go")
		require.Equal(t, exitUsage, exitCode(err), "%q", bad)
	}
}

// It changes the current folder, so it is alone.
func TestNewRefusesToOverwrite(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	code, stdout, stderr := invoke(t, "new", "orders", "--lang", "rust", "-o", "json")
	require.Zero(t, code, stderr)
	var made project
	require.NoError(t, json.Unmarshal([]byte(stdout), &made))
	require.Equal(t, "rust", made.Language)
	require.Contains(t, made.Files, "Cargo.toml")
	before := read(t, dir, "orders", "Cargo.toml")

	code, stdout, stderr = invoke(t, "new", "orders", "--lang", "go")
	require.Equal(t, exitUsage, code)
	require.Empty(t, stdout)
	require.Contains(t, stderr, "exists: nothing was written")
	require.Equal(t, before, read(t, dir, "orders", "Cargo.toml"))
	require.NoFileExists(t, filepath.Join(dir, "orders", "go.mod"))

	require.NoError(t, os.WriteFile("file", nil, 0o644))
	require.NoError(t, os.Symlink("nowhere", "link"))
	for _, taken := range []string{"file", "link"} {
		code, _, _ = invoke(t, "new", taken, "--lang", "go")
		require.Equal(t, exitUsage, code, taken)
	}

	for _, args := range [][]string{{"new"}, {"new", "x"}, {"new", "x", "--lang", "cobol"}, {"new", "x", "y", "--lang", "go"}, {"new", "../x", "--lang", "go"}} {
		code, _, _ = invoke(t, args...)
		require.Equal(t, exitUsage, code, "%v", args)
	}
	require.NoFileExists(t, filepath.Join(dir, "x"))
}

// What projects ask for is what the SDKs of this tree are.
func TestProjectVersionsAreThoseOfTheSDKs(t *testing.T) {
	t.Parallel()
	for file, pattern := range map[string]string{
		"go.mod":              `(?m)^go ` + regexp.QuoteMeta(projectGo) + `$`,
		"guest-sdk/go/go.mod": `(?m)^go ` + regexp.QuoteMeta(projectGo) + `$`,
		"abi/go.mod":          `(?m)^go ` + regexp.QuoteMeta(projectGo) + `$`,
		"Cargo.toml":          `(?m)^version = "` + regexp.QuoteMeta(unreleasedSDK) + `"$`,
	} {
		require.Regexp(t, pattern, read(t, "..", "..", file))
	}
}
