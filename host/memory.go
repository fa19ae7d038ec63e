package host

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/cruster/cruster/host/budget"
)

// memoryUse are the metrics of a budget of memory, which knows nothing of Prometheus.
type memoryUse struct {
	total, used, waiting *prometheus.Desc
	budget               *budget.Budget
}

var _ prometheus.Collector = memoryUse{}

// memoryOfInstances is for the budget of instances.
func memoryOfInstances(b *budget.Budget) memoryUse {
	return memoryUse{
		total:   prometheus.NewDesc("cruster_memory_budget_bytes", "How much memory instances may have together.", nil, nil),
		used:    prometheus.NewDesc("cruster_memory_used_bytes", "How much of that is given out.", nil, nil),
		waiting: prometheus.NewDesc("cruster_memory_waiting", "Instances that wait until there is memory for them.", nil, nil),
		budget:  b,
	}
}

// memoryOfQueues is for the budget of what is held until it is worked on.
func memoryOfQueues(b *budget.Budget) memoryUse {
	return memoryUse{
		total: prometheus.NewDesc("cruster_queued_memory_budget_bytes",
			"How much memory ops that executions wait for, inputs of starts, calls of entities and uploads may have together.", nil, nil),
		used:    prometheus.NewDesc("cruster_queued_memory_used_bytes", "How much of that is given out.", nil, nil),
		waiting: prometheus.NewDesc("cruster_queued_memory_waiting", "Requests that wait for a part of it.", nil, nil),
		budget:  b,
	}
}

// memoryOfDeliveries is for the budget of large values that guests are handed.
func memoryOfDeliveries(b *budget.Budget) memoryUse {
	return memoryUse{
		total:   prometheus.NewDesc("cruster_delivered_memory_budget_bytes", "How much memory large values may have together on their way from the store to workflows.", nil, nil),
		used:    prometheus.NewDesc("cruster_delivered_memory_used_bytes", "How much of that is given out.", nil, nil),
		waiting: prometheus.NewDesc("cruster_delivered_memory_waiting", "Executions that wait for a part of it.", nil, nil),
		budget:  b,
	}
}

// memoryOfRequests is for the budget of messages of callers.
func memoryOfRequests(b *budget.Budget) memoryUse {
	return memoryUse{
		total:   prometheus.NewDesc("cruster_request_memory_budget_bytes", "How much memory calls and their messages may have together.", nil, nil),
		used:    prometheus.NewDesc("cruster_request_memory_used_bytes", "How much of that is given out.", nil, nil),
		waiting: prometheus.NewDesc("cruster_request_memory_waiting", "Requests that wait for a part of it; they are refused instead.", nil, nil),
		budget:  b,
	}
}

// memoryOfWrites is for writes that wait for the store.
func memoryOfWrites(w *writer) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "cruster_write_memory_used_bytes", Help: "How much memory writes have that the store has not answered.",
	}, func() float64 { return float64(w.queuedBytes()) })
}

// Describe implements [prometheus.Collector].
func (m memoryUse) Describe(descriptions chan<- *prometheus.Desc) {
	descriptions <- m.total
	descriptions <- m.used
	descriptions <- m.waiting
}

// Collect implements [prometheus.Collector].
func (m memoryUse) Collect(metrics chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, value int64) {
		metrics <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(value))
	}
	gauge(m.total, m.budget.Total())
	gauge(m.used, m.budget.Used())
	gauge(m.waiting, int64(m.budget.Waiting()))
}
