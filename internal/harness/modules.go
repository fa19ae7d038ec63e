package harness

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// Root is the top of the source tree.
func Root() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Dir(filepath.Dir(filepath.Dir(file)))
}

var built sync.Map // folder → func() ([]byte, error)

// Module is the Wasm binary of a guest, named by its folder below the top of the
// tree: a Go package such as "modules/examples/orders", a Rust crate such as
// "modules/examples/orders/rust", or a folder with a build.sh. It is built once per
// process, unless `make test` has built it before: then it is in the folder that
// CRUSTER_TEST_MODULES (the examples) or CRUSTER_TEST_RUST_MODULES (all guests in
// Rust) names.
func Module(t testing.TB, folder string) []byte {
	t.Helper()
	load, _ := built.LoadOrStore(folder, sync.OnceValues(func() ([]byte, error) { return build(folder) }))
	binary, err := load.(func() ([]byte, error))()
	require.NoError(t, err)
	return binary
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
	if binary, ok := builtBefore("CRUSTER_TEST_MODULES", folder, filepath.Base(folder)); ok {
		return binary, nil
	}
	out := filepath.Join(dir, "m.wasm")
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-buildmode=c-shared", "-ldflags=-s -w", "-o", out, "./"+folder)
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0")
	return output(cmd, folder, out)
}

// buildRust uses the toolchain that scripts/rust.sh finds. If there is none, the
// script's error has the command that installs one.
func buildRust(folder, dir string) ([]byte, error) {
	name := filepath.Base(filepath.Dir(folder)) + "-rust"
	if binary, ok := builtBefore("CRUSTER_TEST_RUST_MODULES", folder, name); ok {
		return binary, nil
	}
	return output(exec.Command("scripts/rust.sh", "build-guests", dir, folder), folder, filepath.Join(dir, name+".wasm"))
}

func buildScript(folder, dir string) ([]byte, error) {
	if binary, ok := builtBefore("CRUSTER_TEST_MODULES", folder, filepath.Base(folder)); ok {
		return binary, nil
	}
	out := filepath.Join(dir, "m.wasm")
	return output(exec.Command(filepath.Join(Root(), folder, "build.sh"), out), folder, out)
}

// builtBefore looks for a guest in the folder that an environment variable names.
// CRUSTER_TEST_MODULES holds only the examples, and other guests may have the same
// names, so they are not looked for there.
func builtBefore(variable, folder, name string) ([]byte, bool) {
	dir := os.Getenv(variable)
	if dir == "" || variable == "CRUSTER_TEST_MODULES" && filepath.Dir(folder) != "modules/examples" {
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

// CacheDir is where compiled modules are kept from one test process to the
// next: CRUSTER_WASM_CACHE, or a folder of the user's cache.
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
