package wasm_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/host/wasm"
)

// BenchmarkInstantiate makes and closes an instance of a Go guest.
func BenchmarkInstantiate(b *testing.B) {
	m := compile(b, newRuntime(b, cached(wasm.Config{})), probeBinary)
	b.ReportAllocs()
	for b.Loop() {
		i, err := m.Instantiate(context.Background(), fixedWorld(1))
		require.NoError(b, err)
		require.NoError(b, i.Close())
	}
}

// BenchmarkResume is one turn of a parked Go guest.
func BenchmarkResume(b *testing.B) {
	i := instantiate(b, compile(b, newRuntime(b, cached(wasm.Config{})), probeBinary), fixedWorld(1))
	_, err := i.Start(context.Background(), []byte("park"))
	require.NoError(b, err)
	b.ReportAllocs()
	for b.Loop() {
		_, err := i.Resume(context.Background(), []byte("1"))
		require.NoError(b, err)
	}
}
