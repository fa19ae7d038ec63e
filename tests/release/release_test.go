package release

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/internal/harness"
)

// release runs the script for the platform of this machine.
func release(t *testing.T, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "scripts/release.sh", args...)
	cmd.Dir = harness.Root()
	cmd.Env = append(os.Environ(), "RELEASE_PLATFORMS="+runtime.GOOS+"/"+runtime.GOARCH)
	text, err := cmd.CombinedOutput()
	return string(text), err
}

// run returns the output of a command in a folder.
func run(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	text, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", text)
	return string(text)
}

func TestReleasesAreReproducible(t *testing.T) {
	t.Parallel()
	const version = "v0.0.0-test.1"
	name := "cruster-host_" + version + "_" + runtime.GOOS + "_" + runtime.GOARCH
	first, second := filepath.Join(t.TempDir(), "dist"), filepath.Join(t.TempDir(), "dist")
	for _, out := range []string{first, second} {
		text, err := release(t, version, out)
		require.NoError(t, err, text)
	}
	for _, file := range []string{name + ".tar.gz", "SHA256SUMS"} {
		one, err := os.ReadFile(filepath.Join(first, file))
		require.NoError(t, err)
		other, err := os.ReadFile(filepath.Join(second, file))
		require.NoError(t, err)
		require.True(t, bytes.Equal(one, other), "%s differs from one build to the next", file)
	}
	require.Equal(t, name+".tar.gz: OK\n", run(t, first, "sha256sum", "--check", "SHA256SUMS"))

	unpacked := t.TempDir()
	run(t, unpacked, "tar", "-xzf", filepath.Join(first, name+".tar.gz"))
	require.Contains(t, run(t, unpacked, filepath.Join(unpacked, name, "cruster-host"), "version"), version)
	require.FileExists(t, filepath.Join(unpacked, name, "LICENSE"))
}

func TestReleasesHaveVersions(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"", "0.1.0", "v1", "v01.0.0", "v1.0.0; true", "v1.0.0+dirty"} {
		out := filepath.Join(t.TempDir(), "dist")
		text, err := release(t, version, out)
		require.Error(t, err, version)
		require.Contains(t, text, "is not a version")
		require.NoDirExists(t, out)
	}
}

// The SDKs, the clients, and the modules of this repository as they require each other, have one version.
func TestVersionsAgree(t *testing.T) {
	t.Parallel()
	read := func(file string) string {
		text, err := os.ReadFile(filepath.Join(harness.Root(), file))
		require.NoError(t, err)
		return string(text)
	}
	found := regexp.MustCompile(`(?m)^version = "([^"]+)"$`).FindStringSubmatch(read("Cargo.toml"))
	require.NotNil(t, found, "the workspace has no version")
	abi, sdk := "github.com/cruster/cruster/abi v"+found[1]+"\n", "github.com/cruster/cruster/guest-sdk/go v"+found[1]+
		"\n"
	require.Contains(t, read("go.mod"), abi)
	require.Contains(t, read("go.mod"), sdk)
	require.Contains(t, read("guest-sdk/go/go.mod"), abi)
	require.Contains(t, read("CHANGELOG.md"), "## ["+found[1]+"]")
	require.Contains(t, read("clients/rust/Cargo.toml"), found[0])
	require.Contains(
		t, read("clients/rust/cruster-client/Cargo.toml"), `guest-sdk/rust/cruster", version = "`+found[1]+`"`,
	)
	require.Contains(t, read("clients/python/pyproject.toml"), found[0])
	require.Contains(t, read("clients/typescript/package.json"), `"version": "`+found[1]+`"`)
}
