package activity

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/cruster/cruster/host/metric"
)

type metrics struct {
	attempts *prometheus.CounterVec
	fuel     *prometheus.CounterVec
	running  prometheus.Gauge
}

func newMetrics(reg prometheus.Registerer) *metrics {
	return &metrics{
		attempts: metric.Counters(reg, "activity_attempts_total", "Attempts of activities, by result.", "result"),
		fuel: metric.Counters(
			reg, "activity_fuel_total", "Fuel that attempts of activities have used, by namespace.", "namespace",
		),
		running: metric.Gauge(reg, "activities_running", "Attempts of activities whose code runs."),
	}
}

func (m *metrics) observeAttempt(report Report) {
	result := "ok"
	switch report.(type) {
	case Failed:
		result = "failed"
	case Dropped:
		result = "dropped"
	case Stuck:
		result = "stuck"
	}
	m.attempts.WithLabelValues(result).Inc()
}
