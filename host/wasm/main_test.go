package wasm_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/wasm"
	"github.com/cruster/cruster/internal/leaktest"
)

// TestMain prepares the guests of testdata, and a compilation cache that all tests share, filled before by
// scripts/test.sh if CRUSTER_WASM_CACHE names it.
var (
	probeBinary, initLoopBinary, initTwiceBinary []byte
	cacheDir                                     string
)

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "cruster-wasm-test")
	if err == nil {
		cacheDir = os.Getenv("CRUSTER_WASM_CACHE")
		if cacheDir == "" {
			cacheDir = filepath.Join(dir, "cache")
		}
		err = errors.Join(buildGuests(dir), fillCache())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := leaktest.Main(m)
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

func buildGuests(dir string) error {
	for name, binary := range map[string]*[]byte{
		"probe": &probeBinary, "initloop": &initLoopBinary, "inittwice": &initTwiceBinary,
	} {
		content, err := buildGuest(dir, name)
		if err != nil {
			return err
		}
		*binary = content
	}
	return nil
}

func buildGuest(dir, name string) ([]byte, error) {
	file := filepath.Join(dir, name+".wasm")
	build := exec.Command(
		"go", "build", "-trimpath", "-buildvcs=false", "-buildmode=c-shared", "-ldflags=-s -w", "-o", file,
		"./testdata/guests/"+name,
	)
	build.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0", "GOFLAGS=")
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build guest %s: %w\n%s", name, err, out)
	}
	return os.ReadFile(file)
}

// fillCache compiles the large guest once, before all tests want it at a time.
func fillCache() error {
	ctx := context.Background()
	r, err := wasm.New(ctx, cached(wasm.Config{}))
	if err != nil {
		return err
	}
	_, err = r.Compile(ctx, probeBinary)
	return errors.Join(err, r.Close(ctx))
}

// newRuntime makes a runtime that is closed with the test.
func newRuntime(t testing.TB, cfg wasm.Config) *wasm.Runtime {
	t.Helper()
	r, err := wasm.New(context.Background(), cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Close(context.Background())) })
	return r
}

func compile(t testing.TB, r *wasm.Runtime, binary []byte) *wasm.Module {
	t.Helper()
	m, err := r.Compile(context.Background(), binary)
	require.NoError(t, err)
	return m
}

func instantiate(t testing.TB, m *wasm.Module, world wasm.World) *wasm.Instance {
	t.Helper()
	i, err := m.Instantiate(context.Background(), world)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, i.Close()) })
	return i
}

// newProbe makes an instance of the probe on a runtime of its own.
func newProbe(t testing.TB, world wasm.World) *wasm.Instance {
	t.Helper()
	return instantiate(t, compile(t, newRuntime(t, cached(wasm.Config{})), probeBinary), world)
}

// cached makes all tests share one compilation of each guest.
func cached(cfg wasm.Config) wasm.Config {
	cfg.CacheDir = cacheDir
	return cfg
}

// requireTrap checks that err is a trap of this code and returns it.
func requireTrap(t testing.TB, err error, code abi.Code) wasm.Trap {
	t.Helper()
	var trap *wasm.Trap
	require.ErrorAs(t, err, &trap)
	require.Equal(t, code, trap.Err.Code, "%v\n%s", err, trap.Stderr)
	return *trap
}

// fixedWorld is a world that always answers the same.
func fixedWorld(seed byte) wasm.World {
	return wasm.World{
		Clock:  func() time.Time { return time.Unix(1_700_000_000, 0) },
		Random: io.Reader(rand.NewChaCha8([32]byte{seed})),
	}
}
