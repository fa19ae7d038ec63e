package wasm_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/wasm"
)

func TestDescribe(t *testing.T) {
	t.Parallel()
	m := compile(t, newRuntime(t, cached(wasm.Config{})), probeBinary)

	manifest, err := m.Describe(context.Background())
	require.NoError(t, err)
	require.Equal(t, "manifest", string(manifest))
	require.Equal(t, wasm.Digest(probeBinary), m.Digest())
	require.Contains(t, m.Imports(), "cruster.sleep")
	require.Contains(t, m.Imports(), "wasi_snapshot_preview1.random_get")
	require.NotContains(t, m.Imports(), "cruster.activity")
	require.IsIncreasing(t, m.Imports())
}

// TestCloseDuringATurn: closing waits for the turn, reading the size does not.
func TestCloseDuringATurn(t *testing.T) {
	t.Parallel()
	m := compile(t, newRuntime(t, cached(wasm.Config{})), probeBinary)
	calling, answer := make(chan struct{}), make(chan struct{})
	i := instantiate(t, m, wasm.World{Call: func(context.Context, string, []byte) ([]byte, *abi.Error) {
		close(calling)
		<-answer
		return []byte("answer"), nil
	}})
	type end struct {
		turn wasm.Turn
		err  error
	}
	ended := make(chan end, 1)
	go func() {
		turn, err := i.Start(context.Background(), []byte("call x"))
		ended <- end{turn, err}
	}()
	<-calling
	require.Positive(t, i.MemoryBytes())
	closed := make(chan error, 1)
	go func() { closed <- i.Close() }()
	close(answer)
	require.Equal(t, end{turn: wasm.Turn{Output: []byte("answer")}}, <-ended)
	require.NoError(t, <-closed)
}
