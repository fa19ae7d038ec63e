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

	fuel            *prometheus.CounterVec
	hibernated      *prometheus.CounterVec
	hibernatedBytes prometheus.Counter
	restored        *prometheus.CounterVec
	inMemory        prometheus.Gauge
	lateness        prometheus.Histogram
	long            prometheus.Counter
	replays         prometheus.Counter
	started         prometheus.Counter
	turns           prometheus.Counter
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
		fuel: metric.Counters(
			reg, "workflow_fuel_total", "Fuel that turns of workflows have used, replays included, by namespace.",
			"namespace",
		),
		hibernated: metric.Counters(
			reg, "hibernations_total", "States of guests that were to be saved, by what came of it.", "result",
		),
		hibernatedBytes: metric.Counter(reg, "hibernated_bytes_total", "Bytes of the states that were saved."),
		restored: metric.Counters(
			reg, "restores_total", "Guests that were to be made from a saved state, by what came of it.", "result",
		),
		inMemory: metric.Gauge(reg, "executions_in_memory", "Executions in memory."),
		lateness: metric.Seconds(reg, "timer_lateness_seconds", "How late sleeps ended."),
		long: metric.Counter(
			reg, "journals_near_limit_total",
			"Journals that came near their limit, counted again after they were out of memory.",
		),
		replays: metric.Counter(reg, "replays_total", "Journals replayed."),
		started: metric.Counter(reg, "executions_started_total", "Executions started."),
		turns:   metric.Counter(reg, "turns_total", "Turns taken by workflows, replays included."),
	}
}
