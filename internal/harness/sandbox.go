package harness

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/host/wasm"
)

// Sandbox is a runtime for many engines of a test process ([host.Config].Runtime), so that a module is compiled once
// for all of them. It is never closed.
//
// A module that was only checked (deploy.Deployments.Check) is dropped again, also if another engine has deployed it:
// tests that check a module share no runtime with tests that deploy the same one.
type Sandbox struct {
	// MemoryLimit of its guests. Defaults to a runtime's.
	MemoryLimit int64

	once    sync.Once
	runtime *wasm.Runtime
	err     error
}

// Runtime makes the runtime when it is first asked for.
func (s *Sandbox) Runtime(t testing.TB) *wasm.Runtime {
	t.Helper()
	s.once.Do(func() {
		s.runtime, s.err = wasm.New(context.Background(), wasm.Config{
			CacheDir: CacheDir(t), InitTimeout: Patience, Logger: Logger(t), MemoryLimit: s.MemoryLimit,
		})
	})
	require.NoError(t, s.err)
	return s.runtime
}
