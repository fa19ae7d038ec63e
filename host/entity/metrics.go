package entity

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/cruster/cruster/host/metric"
)

type metrics struct {
	batches    prometheus.Counter
	batched    prometheus.Counter
	commits    *prometheus.CounterVec
	crashes    prometheus.Counter
	faults     prometheus.Counter
	inMemory   prometheus.Gauge
	lockWait   prometheus.Histogram
	operations *prometheus.CounterVec
	parked     *prometheus.CounterVec
	queued     prometheus.Gauge
	refused    prometheus.Counter
}

func newMetrics(reg prometheus.Registerer) *metrics {
	return &metrics{
		batches:    metric.Counter(reg, "entity_batches_total", "Batches of operations that changed an entity."),
		batched:    metric.Counter(reg, "entity_batched_operations_total", "Operations in these batches; over entity_batches_total, how many share a commit."),
		commits:    metric.Counters(reg, "entity_commits_total", "Commits of entities, by result (ok, error).", "result"),
		crashes:    metric.Counter(reg, "entity_crashes_total", "Invocations that the code of an entity did not survive."),
		faults:     metric.Counter(reg, "entity_host_faults_total", "Failures of the host itself while it worked on an entity."),
		inMemory:   metric.Gauge(reg, "entities_in_memory", "Entities in memory."),
		lockWait:   metric.Seconds(reg, "entity_lock_wait_seconds", "How long workflows have waited for the locks of entities that they got."),
		operations: metric.Counters(reg, "entity_operations_total", "Operations of entities, by kind (change, read, call) and result (ok, failed, error).", "kind", "result"),
		parked:     metric.Counters(reg, "entity_parked_total", "Messages of entities that could not be performed and were parked, by the code of the reason.", "code"),
		queued:     metric.Gauge(reg, "entity_calls_queued", "Calls of entities that wait for their turn."),
		refused:    metric.Counter(reg, "entity_mailbox_full_total", "Calls that were refused because the mailbox of their entity was full."),
	}
}

// observe counts the outcome of an operation.
func (m *metrics) observe(kind string, a answer) {
	result := "ok"
	switch {
	case a.err != nil:
		result = "error"
	case a.outcome.Error != nil:
		result = "failed"
	}
	m.operations.WithLabelValues(kind, result).Inc()
}
