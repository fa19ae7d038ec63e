package grpcserver

import (
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
)

// connections counts the connections of a server. One has buffers, goroutines and windows before its first call: what calls pay does not
// bound them. Those beyond the limit, or beyond the memory for them, are closed as soon as they are made; clients try again with a
// growing delay.
type connections struct {
	limit   int64
	open    atomic.Int64
	refused prometheus.Counter
}

func newConnections(limit int, r prometheus.Registerer) *connections {
	c := &connections{limit: int64(limit), refused: prometheus.NewCounter(prometheus.CounterOpts{
		Name: "cruster_connections_refused_total", Help: "Connections that were closed at once, because there were too many.",
	})}
	if r != nil {
		r.MustRegister(c.refused, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "cruster_connections", Help: "Connections that are open.",
		}, func() float64 { return float64(c.open.Load()) }))
	}
	return c
}

// enter takes a place for a connection, and memory. It reports false if there is none.
func (c *connections) enter(memory RequestMemory) (leave func(), ok bool) {
	if c.open.Add(1) > c.limit {
		c.refuse()
		return nil, false
	}
	release, ok := memory.AdmitConnection()
	if !ok {
		c.refuse()
		return nil, false
	}
	return func() {
		release()
		c.open.Add(-1)
	}, true
}

func (c *connections) refuse() {
	c.open.Add(-1)
	c.refused.Inc()
}
