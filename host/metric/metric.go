package metric

import "github.com/prometheus/client_golang/prometheus"

const namespace = "cruster"

// Counter makes a counter and registers it, if reg is not nil.
func Counter(reg prometheus.Registerer, name, help string) prometheus.Counter {
	return register(reg, prometheus.NewCounter(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}))
}

// Counters makes a counter with labels.
func Counters(reg prometheus.Registerer, name, help string, labels ...string) *prometheus.CounterVec {
	return register(
		reg, prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, labels),
	)
}

// Gauge makes a gauge.
func Gauge(reg prometheus.Registerer, name, help string) prometheus.Gauge {
	return register(reg, prometheus.NewGauge(prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help}))
}

// Seconds makes a histogram of durations, from 0.1 ms to 15 s.
func Seconds(reg prometheus.Registerer, name, help string) prometheus.Histogram {
	return register(reg, prometheus.NewHistogram(prometheus.HistogramOpts{
		Namespace: namespace, Name: name, Help: help, Buckets: prometheus.ExponentialBuckets(0.0001, 2.5, 14),
	}))
}

// Result is the label of a step that may fail: "ok" or "error".
func Result(err error) string {
	if err != nil {
		return "error"
	}
	return "ok"
}

func register[C prometheus.Collector](reg prometheus.Registerer, c C) C {
	if reg != nil {
		reg.MustRegister(c)
	}
	return c
}
