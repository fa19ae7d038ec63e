package execution

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/cruster/cruster/host/metric"
)

type metrics struct {
	continued prometheus.Counter
	crashes   prometheus.Counter
	faults    prometheus.Counter
	finished  *prometheus.CounterVec

	inMemory prometheus.Gauge
	lateness prometheus.Histogram
	long     prometheus.Counter
	started  prometheus.Counter
}

// observeLate notes how late sleeps have ended.
func (m *metrics) observeLate(late []time.Duration) {
	for _, d := range late {
		m.lateness.Observe(d.Seconds())
	}
}

func newMetrics(reg prometheus.Registerer) *metrics {
	return &metrics{
		continued: metric.Counter(
			reg, "executions_continued_total", "Runs of executions that continued as another one.",
		),
		crashes: metric.Counter(reg, "workflow_crashes_total", "Turns that a workflow's code did not survive."),
		faults: metric.Counter(
			reg, "host_faults_total",
			"Failures of the host itself while it worked on an execution, which it then paused.",
		),
		finished: metric.Counters(
			reg, "executions_finished_total", "Executions that ended or were paused, by state.", "state",
		),
		inMemory: metric.Gauge(reg, "executions_in_memory", "Executions in memory."),
		lateness: metric.Seconds(reg, "timer_lateness_seconds", "How late sleeps ended."),
		long: metric.Counter(
			reg, "journals_near_limit_total",
			"Journals that came near their limit, counted again after they were out of memory.",
		),
		started: metric.Counter(reg, "executions_started_total", "Executions started."),
	}
}
