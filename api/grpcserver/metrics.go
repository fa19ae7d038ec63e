package grpcserver

import (
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/codes"
)

type metrics struct {
	requests *prometheus.CounterVec
	latency  *prometheus.HistogramVec
	panics   prometheus.Counter
}

func newMetrics(r prometheus.Registerer) *metrics {
	m := &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "cruster_grpc_requests_total",
			Help: "Calls answered, by method and status code.",
		}, []string{"method", "code"}),
		latency: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "cruster_grpc_request_duration_seconds",
			Help: "Time from a call's arrival to its answer, by method. Execute and Wait include the workflow's " +
				"own time.",
			Buckets: prometheus.ExponentialBuckets(0.0005, 2, 18),
		}, []string{"method"}),
		panics: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "cruster_grpc_panics_total",
			Help: "Calls that ended in a panic of the host. Anything above zero is a bug.",
		}),
	}
	if r != nil {
		r.MustRegister(m.requests, m.latency, m.panics)
	}
	return m
}

func (m *metrics) observe(method string, code codes.Code, took time.Duration) {
	method = strings.TrimPrefix(method, "/")
	m.requests.WithLabelValues(method, code.String()).Inc()
	m.latency.WithLabelValues(method).Observe(took.Seconds())
}
