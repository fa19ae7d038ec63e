package memory

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

// use are the metrics of the budget of a share.
func (s share) use(b *budget.Budget) memoryUse {
	name := "cruster_" + s.metric
	return memoryUse{
		total:   prometheus.NewDesc(name+"_budget_bytes", s.total, nil, nil),
		used:    prometheus.NewDesc(name+"_used_bytes", "How much of that is given out.", nil, nil),
		waiting: prometheus.NewDesc(name+"_waiting", s.waiting, nil, nil),
		budget:  b,
	}
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

// Collectors are the metrics of the shares.
func (s *Shares) Collectors() []prometheus.Collector {
	return []prometheus.Collector{
		instanceShare.use(s.Instances), queuedShare.use(s.Queued), deliveringShare.use(s.Delivering),
		requestShare.use(s.Requests), answerShare.use(s.Answers), connectionShare.use(s.Connections),
	}
}

// WriteCollectors are the metrics of writes that wait for the store, of a host with so much memory.
func WriteCollectors(used func() int64, memory int64) []prometheus.Collector {
	return []prometheus.Collector{
		gauge("write_memory_used_bytes", "How much memory writes have that the store has not answered.", used),
		gauge("write_memory_limit_bytes", "How much that may be before starts and messages are refused.", func() int64 {
			return WriteBytes(memory)
		}),
	}
}

// OutcomeCollectors are the metrics of outcomes that wait to be delivered, of a host with so much memory.
func OutcomeCollectors(used func() int64, memory int64) []prometheus.Collector {
	return []prometheus.Collector{
		gauge(
			"outcome_memory_used_bytes",
			"How much memory outcomes of activities, calls and polls have that were not delivered.", used,
		),
		gauge("outcome_memory_limit_bytes", "How much that may be before no further attempt begins.", func() int64 {
			return OutcomeBytes(memory)
		}),
	}
}

func gauge(name, help string, value func() int64) prometheus.Collector {
	return prometheus.NewGaugeFunc(
		prometheus.GaugeOpts{Namespace: "cruster", Name: name, Help: help}, func() float64 { return float64(value()) },
	)
}
