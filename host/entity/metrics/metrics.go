package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/cruster/cruster/host/entity/call"
	"github.com/cruster/cruster/host/metric"
)

// Metrics counts the work on entities.
type Metrics struct {
	Batches    prometheus.Counter
	Batched    prometheus.Counter
	Commits    *prometheus.CounterVec
	Crashes    prometheus.Counter
	Faults     prometheus.Counter
	InMemory   prometheus.Gauge
	LockWait   prometheus.Histogram
	Operations *prometheus.CounterVec
	Parked     *prometheus.CounterVec
	Queued     prometheus.Gauge
	Refused    prometheus.Counter
}

// New registers the metrics.
func New(reg prometheus.Registerer) *Metrics {
	return &Metrics{
		Batches: metric.Counter(reg, "entity_batches_total", "Batches of operations that changed an entity."),
		Batched: metric.Counter(
			reg, "entity_batched_operations_total",
			"Operations in these batches; over entity_batches_total, how many share a commit.",
		),
		Commits: metric.Counters(
			reg, "entity_commits_total", "Commits of entities, by result (ok, error).", "result",
		),
		Crashes: metric.Counter(
			reg, "entity_crashes_total", "Invocations that the code of an entity did not survive.",
		),
		Faults: metric.Counter(
			reg, "entity_host_faults_total", "Failures of the host itself while it worked on an entity.",
		),
		InMemory: metric.Gauge(reg, "entities_in_memory", "Entities in memory."),
		LockWait: metric.Seconds(
			reg, "entity_lock_wait_seconds", "How long workflows have waited for the locks of entities that they got.",
		),
		Operations: metric.Counters(
			reg, "entity_operations_total",
			"Operations of entities, by kind (change, read, call) and result (ok, failed, error).", "kind", "result",
		),
		Parked: metric.Counters(
			reg, "entity_parked_total",
			"Messages of entities that could not be performed and were parked, by the code of the reason.", "code",
		),
		Queued: metric.Gauge(reg, "entity_calls_queued", "Calls of entities that wait for their turn."),
		Refused: metric.Counter(
			reg, "entity_mailbox_full_total", "Calls that were refused because the mailbox of their entity was full.",
		),
	}
}

// Observe counts the outcome of an operation.
func (m *Metrics) Observe(kind string, a call.Answer) {
	result := "ok"
	switch {
	case a.Err != nil:
		result = "error"
	case a.Outcome.Error != nil:
		result = "failed"
	}
	m.Operations.WithLabelValues(kind, result).Inc()
}
