package host

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/cruster/cruster/host/wasm"
)

// instances are the metrics of the Wasm runtime. It counts itself: it knows nothing of Prometheus.
type instances struct{ runtime *wasm.Runtime }

var _ prometheus.Collector = instances{}

var (
	instancesMade = prometheus.NewDesc("cruster_instances_total",
		"Instances, by how they were made: initialized, mapped from an image, or reused after a reset.",
		[]string{"made"}, nil,
	)
	instancesDiscarded = prometheus.NewDesc("cruster_instances_discarded_total",
		"Instances that could not be reset, or for which there was no room in the pool.", nil, nil)
	instancesWaiting = prometheus.NewDesc("cruster_instances_waiting_for_core",
		"Instances that have computed for long and wait until others leave them a core.", nil, nil)
	instancesIdle = prometheus.NewDesc(
		"cruster_instances_idle", "Instances that are reset and wait to be used again.", nil, nil,
	)
)

// Describe implements [prometheus.Collector].
func (instances) Describe(descriptions chan<- *prometheus.Desc) {
	descriptions <- instancesMade
	descriptions <- instancesDiscarded
	descriptions <- instancesIdle
	descriptions <- instancesWaiting
}

// Collect implements [prometheus.Collector].
func (i instances) Collect(metrics chan<- prometheus.Metric) {
	stats := i.runtime.Stats()
	for made, count := range map[string]uint64{
		"initialized": stats.Initialized, "mapped": stats.Mapped, "reused": stats.Reused,
	} {
		metrics <- prometheus.MustNewConstMetric(instancesMade, prometheus.CounterValue, float64(count), made)
	}
	metrics <- prometheus.MustNewConstMetric(instancesDiscarded, prometheus.CounterValue, float64(stats.Discarded))
	metrics <- prometheus.MustNewConstMetric(instancesIdle, prometheus.GaugeValue, float64(stats.Idle))
	metrics <- prometheus.MustNewConstMetric(instancesWaiting, prometheus.GaugeValue, float64(stats.Waiting))
}
