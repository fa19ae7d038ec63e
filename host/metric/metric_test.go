package metric_test

import (
	"errors"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/host/metric"
)

func TestMetricsAreRegistered(t *testing.T) {
	t.Parallel()
	reg := prometheus.NewRegistry()
	metric.Counter(reg, "a_total", "A.").Inc()
	metric.Counters(reg, "b_total", "B.", "kind").WithLabelValues("x").Inc()
	metric.Gauge(reg, "c", "C.").Set(2)
	metric.Seconds(reg, "d_seconds", "D.").Observe(1)
	families, err := reg.Gather()
	require.NoError(t, err)
	var names []string
	for _, f := range families {
		names = append(names, f.GetName())
	}
	require.Equal(t, []string{"cruster_a_total", "cruster_b_total", "cruster_c", "cruster_d_seconds"}, names)
}

func TestNoRegisterer(t *testing.T) {
	t.Parallel()
	require.NotPanics(t, func() { metric.Counter(nil, "a_total", "A.").Inc() })
}

func TestResult(t *testing.T) {
	t.Parallel()
	require.Equal(t, "ok", metric.Result(nil))
	require.Equal(t, "error", metric.Result(errors.New("no")))
}
