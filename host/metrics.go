package host

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/cruster/cruster/journal"
)

// metrics of the engine. docs/operations.md explains them.
type metrics struct {
	activities  *prometheus.CounterVec
	commits     *prometheus.CounterVec
	commitTime  prometheus.Histogram
	crashes     prometheus.Counter
	entries     prometheus.Counter
	executions  prometheus.Gauge
	finished    *prometheus.CounterVec
	keyDuration prometheus.Histogram
	lateness    prometheus.Histogram
	refused     prometheus.Counter
	replays     prometheus.Counter
	resident    prometheus.Gauge
	started     prometheus.Counter
	turns       prometheus.Counter
	writes      prometheus.Counter
}

func newMetrics(reg prometheus.Registerer) *metrics {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Namespace: "cruster", Name: name, Help: help})
	}
	counters := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "cruster", Name: name, Help: help}, labels)
	}
	gauge := func(name, help string) prometheus.Gauge {
		return prometheus.NewGauge(prometheus.GaugeOpts{Namespace: "cruster", Name: name, Help: help})
	}
	histogram := func(name, help string) prometheus.Histogram {
		return prometheus.NewHistogram(prometheus.HistogramOpts{
			Namespace: "cruster", Name: name, Help: help, Buckets: prometheus.ExponentialBuckets(0.0001, 2.5, 14),
		})
	}
	m := &metrics{
		activities:  counters("activity_attempts_total", "Attempts of activities, by result.", "result"),
		commits:     counters("commits_total", "Transactions, by kind (group, guest) and result (ok, error).", "kind", "result"),
		commitTime:  histogram("commit_seconds", "Time of a group commit."),
		crashes:     counter("workflow_crashes_total", "Turns that a workflow's code did not survive."),
		entries:     counter("journal_entries_total", "Entries appended to journals by group commits."),
		executions:  gauge("executions_in_memory", "Executions in memory."),
		finished:    counters("executions_finished_total", "Executions that ended or were paused, by state.", "state"),
		keyDuration: histogram("key_function_seconds", "Time of a key function."),
		lateness:    histogram("timer_lateness_seconds", "How late sleeps ended."),
		refused:     counter("starts_refused_total", "Starts refused because the host was full."),
		replays:     counter("replays_total", "Journals replayed."),
		resident:    gauge("instances_resident", "Warm instances of workflows."),
		started:     counter("executions_started_total", "Executions started."),
		turns:       counter("turns_total", "Turns taken by workflows, replays included."),
		writes:      counter("commit_writes_total", "Writes that group commits carried; over commits_total, how many share one."),
	}
	if reg != nil {
		reg.MustRegister(m.activities, m.commits, m.commitTime, m.crashes, m.entries, m.executions, m.finished, m.keyDuration,
			m.lateness, m.refused, m.replays, m.resident, m.started, m.turns, m.writes)
	}
	return m
}

func (m *metrics) observeCommit(s journal.CommitStats) {
	m.commits.WithLabelValues("group", resultOf(s.Err)).Inc()
	m.commitTime.Observe(s.Duration.Seconds())
	m.writes.Add(float64(s.Writes))
	m.entries.Add(float64(s.Entries))
}

func (m *metrics) observeTx(err error) {
	m.commits.WithLabelValues("guest", resultOf(err)).Inc()
}

func (m *metrics) observeAttempt(mail event) {
	result := "ok"
	switch mail.(type) {
	case failedMail:
		result = "failed"
	case droppedMail:
		result = "dropped"
	}
	m.activities.WithLabelValues(result).Inc()
}

func (m *metrics) observeLateness(nanos int64) {
	m.lateness.Observe(time.Duration(nanos).Seconds())
}

func resultOf(err error) string {
	if err != nil {
		return "error"
	}
	return "ok"
}
