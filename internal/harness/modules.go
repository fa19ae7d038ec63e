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

var built sync.Map // package path → func() ([]byte, error)

// Module is the Wasm binary of a Go package below the top of the tree, such as
// "modules/examples/orders". Examples that `make build` has built are taken from
// the folder that CRUSTER_TEST_MODULES names; everything else is built once a
// process.
func Module(t testing.TB, pkg string) []byte {
	t.Helper()
	load, _ := built.LoadOrStore(pkg, sync.OnceValues(func() ([]byte, error) { return build(pkg) }))
	binary, err := load.(func() ([]byte, error))()
	require.NoError(t, err)
	return binary
}

func build(pkg string) ([]byte, error) {
	if dir := os.Getenv("CRUSTER_TEST_MODULES"); dir != "" && filepath.Dir(pkg) == "modules/examples" {
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(Root(), dir)
		}
		if binary, err := os.ReadFile(filepath.Join(dir, filepath.Base(pkg)+".wasm")); err == nil {
			return binary, nil
		}
	}
	dir, err := os.MkdirTemp("", "cruster-module-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	out := filepath.Join(dir, "m.wasm")
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-buildmode=c-shared", "-ldflags=-s -w", "-o", out, "./"+pkg)
	cmd.Dir = Root()
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0")
	if text, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build %s: %w\n%s", pkg, err, text)
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
		dir = filepath.Join(cache, "cruster-test-wasm")
	}
	require.NoError(t, os.MkdirAll(dir, 0o755))
	return dir
}
