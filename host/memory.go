package host

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/cruster/cruster/host/budget"
	"github.com/cruster/cruster/host/execution"
)

// share is a part of the memory of a host. Each is for uses that must not wait for the others: so
// nothing waits for memory held by its own waiters. The table of docs/tuning.md has one row for
// each.
type share struct {
	// parts of shareParts are its size. The share of instances is the remainder.
	parts int64
	// metric begins the names of its metrics.
	metric string
	// total and waiting are their help.
	total, waiting string
}

const shareParts = 32

var (
	instanceShare = share{
		parts: 19, metric: "memory",
		total: "How much memory instances may have together.", waiting: "Instances that wait until there is memory for them.",
	}
	queuedShare = share{
		parts: 7, metric: "queued_memory",
		total:   "How much memory ops that executions wait for, inputs of starts, calls of entities and uploads may have together.",
		waiting: "Requests that wait for a part of it.",
	}
	deliveringShare = share{
		parts: 2, metric: "delivered_memory",
		total: "How much memory large values may have together on their way from the store to workflows.", waiting: "Executions that wait for a part of it.",
	}
	requestShare = share{
		parts: 2, metric: "request_memory",
		total: "How much memory calls and their messages may have together.", waiting: "Requests that wait for a part of it; they are refused instead.",
	}
	answerShare = share{
		parts: 1, metric: "answer_memory",
		total: "How much memory results, histories, lists and descriptions may have together while they are made and sent.", waiting: "Calls that wait for a part of it.",
	}
	connectionShare = share{
		parts: 1, metric: "connection_memory",
		total: "How much memory connections may have together, beside their calls.", waiting: "Connections that wait for a part of it; they are refused instead.",
	}
	// shares are all of them; together they are the whole.
	shares = []share{instanceShare, queuedShare, deliveringShare, requestShare, answerShare, connectionShare}
)

// writeLimit is the part of the memory that writes may have which wait for the store, before starts
// and messages are refused. It is no share: a write must not wait for memory, since its pending
// effects hold some.
const writeLimit = 8

// writeBytes is how many bytes that is.
func writeBytes(memory int64) int64 { return max(1, memory/writeLimit) }

// outcomeLimit is the part of the memory that outcomes may have which wait to be delivered, before no further attempt begins. It is no share: an
// outcome is there when its size is known, and must not be lost.
const outcomeLimit = 16

// outcomeBytes is how many bytes that is.
func outcomeBytes(memory int64) int64 { return max(1, memory/outcomeLimit) }

// budgetOf makes the budget of a share.
func (s share) budgetOf(memory int64) *budget.Budget {
	if s != instanceShare {
		return budget.New(memory * s.parts / shareParts)
	}
	rest := memory
	for _, other := range shares {
		if other != instanceShare {
			rest -= memory * other.parts / shareParts
		}
	}
	return budget.New(rest)
}

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

// memoryOfWrites is for writes that wait for the store, of a host with so much memory.
func memoryOfWrites(w *writer, memory int64) []prometheus.Collector {
	return []prometheus.Collector{
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "cruster_write_memory_used_bytes", Help: "How much memory writes have that the store has not answered.",
		}, func() float64 { return float64(w.queuedBytes()) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "cruster_write_memory_limit_bytes", Help: "How much that may be before starts and messages are refused.",
		}, func() float64 { return float64(writeBytes(memory)) }),
	}
}

// memoryOfOutcomes is for outcomes that wait to be delivered, of a host with so much memory.
func memoryOfOutcomes(x *execution.Executions, memory int64) []prometheus.Collector {
	return []prometheus.Collector{
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "cruster_outcome_memory_used_bytes", Help: "How much memory outcomes of activities, calls and polls have that were not delivered.",
		}, func() float64 { return float64(x.OutcomeBytes()) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "cruster_outcome_memory_limit_bytes", Help: "How much that may be before no further attempt begins.",
		}, func() float64 { return float64(outcomeBytes(memory)) }),
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
