package harness

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// Root is the top of the source tree. Go runs tests in the folder of their package, and a test may change
// to another.
func Root() string { return root }

var root = findRoot(os.Getwd())

func findRoot(dir string, err error) string {
	for err == nil && dir != filepath.Dir(dir) {
		// Modules inside of the tree have a go.mod of their own.
		if _, missing := os.Stat(filepath.Join(dir, "cmd", "cruster-host")); missing == nil {
			return dir
		}
		dir = filepath.Dir(dir)
	}
	panic(fmt.Sprintf("harness: the working directory is not in the source tree (%v)", err))
}

// Tool is the path of a tool that scripts/tools.sh builds.
func Tool(name string) (string, error) {
	cmd := exec.Command(filepath.Join(root, "scripts", "tools.sh"), name)
	cmd.Stderr = os.Stderr
	path, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("build %s: %w", name, err)
	}
	return strings.TrimSpace(string(path)), nil
}

var built sync.Map // folder → func() ([]byte, error)

// Module is the Wasm binary of a guest, named by its folder below the top of the tree: a Go package such as
// "modules/examples/orders", a Rust crate such as "modules/examples/orders/rust", or a folder with a build.sh. It is
// built once per process, unless scripts/test.sh has built it before: then it is in the folder that
// CRUSTER_TEST_GUESTS, or for guests in Rust CRUSTER_TEST_RUST_MODULES, names.
func Module(t testing.TB, folder string) []byte {
	t.Helper()
	binary, err := ReadModule(folder)
	require.NoError(t, err)
	return binary
}

// ReadModule is [Module] before there is a test.
func ReadModule(folder string) ([]byte, error) {
	load, _ := built.LoadOrStore(folder, sync.OnceValues(func() ([]byte, error) { return build(folder) }))
	return load.(func() ([]byte, error))()
}

func build(folder string) ([]byte, error) {
	dir, err := os.MkdirTemp("", "cruster-module-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	switch {
	case has(folder, "Cargo.toml"):
		return buildRust(folder, dir)
	case has(folder, "build.sh"):
		return buildScript(folder, dir)
	default:
		return buildGo(folder, dir)
	}
}

func has(folder, file string) bool {
	_, err := os.Stat(filepath.Join(Root(), folder, file))
	return err == nil
}

func buildGo(folder, dir string) ([]byte, error) {
	if binary, ok := builtBefore("CRUSTER_TEST_GUESTS", strings.ReplaceAll(folder, "/", "-")); ok {
		return binary, nil
	}
	out := filepath.Join(dir, "m.wasm")
	cmd := exec.Command(
		"go", "build", "-trimpath", "-buildvcs=false", "-buildmode=c-shared", "-ldflags=-s -w", "-o", out, "./"+folder,
	)
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0")
	return output(cmd, folder, out)
}

// buildRust uses the toolchain that scripts/rust.sh finds. If there is none, the script's error has the command that
// installs one.
func buildRust(folder, dir string) ([]byte, error) {
	name := filepath.Base(filepath.Dir(folder)) + "-rust"
	if binary, ok := builtBefore("CRUSTER_TEST_RUST_MODULES", name); ok {
		return binary, nil
	}
	return output(
		exec.Command("scripts/rust.sh", "build-guests", dir, folder), folder, filepath.Join(dir, name+".wasm"),
	)
}

func buildScript(folder, dir string) ([]byte, error) {
	if binary, ok := builtBefore("CRUSTER_TEST_GUESTS", strings.ReplaceAll(folder, "/", "-")); ok {
		return binary, nil
	}
	out := filepath.Join(dir, "m.wasm")
	return output(exec.Command(filepath.Join(Root(), folder, "build.sh"), out), folder, out)
}

// RustProject is the environment of Cargo in a new project that takes the SDK from this tree. Nothing comes over the
// network, and dependencies are compiled once for all such projects, those for Wasm once for the guests as well; the
// files that a project asks for are in its own folder. A Cargo before 1.91 knows no such folder, and compiles them for
// each. Tests need no tables for debuggers.
func RustProject() []string {
	return []string{
		"CARGO_NET_OFFLINE=true", "CARGO_BUILD_BUILD_DIR=" + filepath.Join(Root(), ".cache", "rust"),
		"CARGO_PROFILE_DEV_DEBUG=none",
	}
}

// builtBefore looks for a guest in the folder that an environment variable names.
func builtBefore(variable, name string) ([]byte, bool) {
	dir := os.Getenv(variable)
	if dir == "" {
		return nil, false
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(Root(), dir)
	}
	binary, err := os.ReadFile(filepath.Join(dir, name+".wasm"))
	return binary, err == nil
}

// output runs a command at the top of the tree and reads the file that it makes.
func output(cmd *exec.Cmd, folder, out string) ([]byte, error) {
	cmd.Dir = Root()
	if text, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build %s: %w\n%s", folder, err, text)
	}
	return os.ReadFile(out)
}

// CacheDir is where compiled modules are kept from one test process to the next: CRUSTER_WASM_CACHE, or a folder of the
// user's cache.
func CacheDir(t testing.TB) string {
	t.Helper()
	dir := os.Getenv("CRUSTER_WASM_CACHE")
	if dir == "" {
		cache, err := os.UserCacheDir()
		require.NoError(t, err)
		dir = filepath.Join(cache, "cruster", "wasm")
	}
	require.NoError(t, os.MkdirAll(dir, 0o755))
	return dir
}
