package grpcserver

import (
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/prometheus/client_golang/prometheus"
)

const (
	// localPlaces is how many connections from the host's own machine there may be beyond the limit and the memory: an
	// operator finds a place there while clients have taken all others.
	localPlaces = 4
	// warnEvery is how often refused connections are logged, however many there are.
	warnEvery = time.Minute
)

// connections counts the connections of a server. One has buffers, goroutines and windows before
// its first call: the memory budget of calls does not bound them. Connections beyond the limit, or
// beyond the memory for them, are closed at once; clients try again with a growing delay.
type connections struct {
	limit   int
	clock   clockwork.Clock
	log     *slog.Logger
	refused prometheus.Counter

	mu       sync.Mutex
	open     int       // guarded by mu; the connections of local among them
	local    int       // guarded by mu; that have one of the localPlaces
	unlogged int       // guarded by mu; were refused since the last line
	warned   time.Time // guarded by mu; when that was
}

func newConnections(cfg *Config) *connections {
	c := &connections{
		limit: cfg.MaxConnections,
		clock: cfg.Clock,
		log:   cfg.Logger,
		refused: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "cruster_connections_refused_total",
			Help: "Connections that were closed at once, because there were too many.",
		}),
	}
	if r := cfg.Registerer; r != nil {
		r.MustRegister(c.refused, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "cruster_connections", Help: "Connections that are open.",
		}, func() float64 { return float64(c.count()) }))
	}
	return c
}

func (c *connections) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.open
}

// enter takes a place for a connection, and memory. It reports false if there is none.
func (c *connections) enter(from net.Addr, memory RequestMemory) (leave func(), ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open-c.local < c.limit {
		if release, ok := memory.AdmitConnection(); ok {
			c.open++
			return func() {
				release()
				c.left(false)
			}, true
		}
	}
	if isLocal(from) && c.local < localPlaces {
		c.open++
		c.local++
		return func() { c.left(true) }, true
	}
	c.refuse()
	return nil, false
}

// left gives a place back.
func (c *connections) left(local bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open--
	if local {
		c.local--
	}
}

// refuse counts a refused connection, and now and then logs the connections refused since the last
// log. The caller holds mu.
func (c *connections) refuse() {
	c.refused.Inc()
	c.unlogged++
	if now := c.clock.Now(); c.warned.IsZero() || now.Sub(c.warned) >= warnEvery {
		c.log.Warn(
			"connections are refused: there are too many, or there is no memory for more; see --max-connections and --memory",
			"refused", c.unlogged, "open", c.open,
		)
		c.warned, c.unlogged = now, 0
	}
}

// isLocal tells whether a connection comes from the machine of the host.
func isLocal(from net.Addr) bool {
	switch a := from.(type) {
	case *net.TCPAddr:
		return a.IP.IsLoopback()
	case *net.UnixAddr:
		return true
	default:
		return false
	}
}
