package wasm_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/wasm"
)

func TestConfigIsValidated(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]wasm.Config{
		"memory too small": {MemoryLimit: 1},
		"memory too large": {MemoryLimit: 5 << 30},
		"negative timeout": {InitTimeout: -1},
		"negative size":    {MaxModuleSize: -1},
		"negative memory":  {MemoryLimit: -1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := wasm.New(context.Background(), cfg)
			require.Equal(t, abi.CodeBadConfig, abi.CodeOf(err))
		})
	}
}

func TestClose(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	r, err := wasm.New(ctx, cached(wasm.Config{}))
	require.NoError(t, err)
	m := compile(t, r, probeBinary)
	entered := make(chan struct{})
	i := instantiate(t, m, wasm.World{Log: func(int32, []byte) { close(entered) }})

	// A guest that is spinning is stopped and waited for.
	spinning := make(chan error, 1)
	go func() {
		_, err := i.Start(ctx, []byte("spin"))
		spinning <- err
	}()
	<-entered
	require.NoError(t, r.Close(ctx))
	require.NoError(t, r.Close(ctx))
	require.Equal(t, abi.CodeShuttingDown, abi.CodeOf(<-spinning))

	_, err = r.Compile(ctx, probeBinary)
	require.Equal(t, abi.CodeShuttingDown, abi.CodeOf(err))
	_, err = m.Instantiate(ctx, wasm.World{})
	require.Equal(t, abi.CodeShuttingDown, abi.CodeOf(err))
	_, err = i.Resume(ctx, nil)
	require.Equal(t, abi.CodeShuttingDown, abi.CodeOf(err))
	require.NoError(t, i.Close())
}
