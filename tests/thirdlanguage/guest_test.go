package thirdlanguage

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/wasm"
	"github.com/cruster/cruster/internal/harness"
)

// compile builds the module of a folder.
func compile(t testing.TB, folder string) *wasm.Module {
	t.Helper()
	runtime, err := wasm.New(t.Context(), wasm.Config{CacheDir: harness.CacheDir(t)})
	require.NoError(t, err)
	t.Cleanup(func() { _ = runtime.Close(context.Background()) })
	module, err := runtime.Compile(t.Context(), harness.Module(t, folder))
	require.NoError(t, err)
	return module
}

// op is a durable request, as the guest sent it.
type op struct {
	kind string
	body []byte
}

// partner is one instance of a guest and the ops that it has issued.
type partner struct {
	*wasm.Instance
	issued    []op
	cancelled []uint32
}

// start makes a fresh instance. Ops are numbered as a host numbers them.
func start(t testing.TB, m *wasm.Module) *partner {
	t.Helper()
	p := &partner{}
	instance, err := m.Instantiate(t.Context(), wasm.World{
		Op: func(kind string, body []byte) (uint32, *abi.Error) {
			p.issued = append(p.issued, op{kind, body})
			return uint32(len(p.issued)), nil
		},
		Cancel: func(number uint32) { p.cancelled = append(p.cancelled, number) },
	})
	require.NoError(t, err)
	t.Cleanup(func() { _ = instance.Close() })
	p.Instance = instance
	return p
}

// outcome runs an invocation that ends in its first turn.
func outcome(t testing.TB, m *wasm.Module, inv abi.Invocation) abi.Outcome {
	t.Helper()
	turn, err := start(t, m).Start(t.Context(), abi.MustMarshal(inv))
	require.NoError(t, err)
	require.False(t, turn.Parked)
	return harness.Decode[abi.Outcome](t, turn.Output)
}
