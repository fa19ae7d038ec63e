package host

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/host/wasm"
	"github.com/cruster/cruster/host/wasm/binary/wasmtest"
	"github.com/cruster/cruster/internal/metrictest"
)

func TestMetricsOfInstances(t *testing.T) {
	t.Parallel()
	runtime, err := wasm.New(t.Context(), wasm.Config{})
	require.NoError(t, err)
	defer func() { require.NoError(t, runtime.Close(t.Context())) }()
	code, err := runtime.Compile(t.Context(), wasmtest.Module{}.Assemble())
	require.NoError(t, err)
	for range 3 {
		i, err := code.Instantiate(t.Context(), wasm.World{})
		require.NoError(t, err)
		require.NoError(t, i.Close())
	}
	reg := prometheus.NewPedanticRegistry()
	reg.MustRegister(instances{runtime})
	require.Equal(t, map[string]float64{
		"cruster_instances_discarded_total":   0,
		"cruster_instances_idle":              1,
		"cruster_instances_total initialized": 2, // to make the image
		"cruster_instances_total mapped":      1,
		"cruster_instances_total reused":      2,
		"cruster_instances_waiting_for_core":  0,
	}, metrictest.Values(t, reg))
}
