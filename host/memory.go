package host

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/cruster/cruster/host/budget"
)

// memoryUse are the metrics of the budget of memory, which knows nothing of Prometheus.
type memoryUse struct{ budget *budget.Budget }

var _ prometheus.Collector = memoryUse{}

var (
	memoryBudget  = prometheus.NewDesc("cruster_memory_budget_bytes", "How much memory instances may have together.", nil, nil)
	memoryUsed    = prometheus.NewDesc("cruster_memory_used_bytes", "How much of that is given out.", nil, nil)
	memoryWaiting = prometheus.NewDesc("cruster_memory_waiting", "Instances that wait until there is memory for them.", nil, nil)
)

// Describe implements [prometheus.Collector].
func (memoryUse) Describe(descriptions chan<- *prometheus.Desc) {
	descriptions <- memoryBudget
	descriptions <- memoryUsed
	descriptions <- memoryWaiting
}

// Collect implements [prometheus.Collector].
func (m memoryUse) Collect(metrics chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, value int64) {
		metrics <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(value))
	}
	gauge(memoryBudget, m.budget.Total())
	gauge(memoryUsed, m.budget.Used())
	gauge(memoryWaiting, int64(m.budget.Waiting()))
}
