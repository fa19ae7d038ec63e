package wasm_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/host/wasm"
)

func TestEqualWorldsGiveEqualRuns(t *testing.T) {
	t.Parallel()
	m := compile(t, newRuntime(t, cached(wasm.Config{})), probeBinary)
	run := func(seed byte) string {
		turn, err := instantiate(t, m, fixedWorld(seed)).Start(context.Background(), []byte("chance"))
		require.NoError(t, err)
		return string(turn.Output)
	}
	first := run(1)
	for range 3 {
		require.Equal(t, first, run(1))
	}
	require.NotEqual(t, first, run(2))
}
