package residency

import (
	"container/list"
	"context"
	"iter"
	"sync"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/cruster/cruster/host/metric"
	"github.com/cruster/cruster/journal"
)

// Config configures a [List].
type Config struct {
	Clock clockwork.Clock
	// Evict drops the instance of an execution, if it is not at work at that
	// moment. An instance that is dropped is taken off the list by [List.Remove].
	Evict func(id journal.ID)
	// IdleTimeout is how long an instance stays warm without use.
	IdleTimeout time.Duration
	// Max bounds the warm instances. Those at work cannot be evicted, so there may
	// be more for a while.
	Max int
	// Registerer takes the metrics; nil means none.
	Registerer prometheus.Registerer
}

// List knows which executions have a warm instance, and when each was used last.
type List struct {
	cfg   Config
	gauge prometheus.Gauge

	mu    sync.Mutex
	order *list.List                   // guarded by mu; of resident, front = used last
	byID  map[journal.ID]*list.Element // guarded by mu
}

// New makes an empty list.
func New(cfg Config) *List {
	return &List{
		cfg: cfg, order: list.New(), byID: map[journal.ID]*list.Element{},
		gauge: metric.Gauge(cfg.Registerer, "instances_resident", "Warm instances of workflows."),
	}
}

// Add counts an instance in, and has others evicted if there are too many. Evict
// is called on the caller's goroutine.
func (l *List) Add(id journal.ID) {
	l.mu.Lock()
	now := l.cfg.Clock.Now()
	if el := l.byID[id]; el != nil {
		l.useLocked(el, now)
	} else {
		l.byID[id] = l.order.PushFront(resident{id, now})
	}
	victims := surplus(l.oldestFirstLocked(), l.order.Len(), l.cfg.Max, id)
	l.gauge.Set(float64(l.order.Len()))
	l.mu.Unlock()
	l.evict(victims)
}

// Touch says that the instance of an execution was used just now. It does nothing
// if there is none.
func (l *List) Touch(id journal.ID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if el := l.byID[id]; el != nil {
		l.useLocked(el, l.cfg.Clock.Now())
	}
}

// Remove counts an instance out.
func (l *List) Remove(id journal.ID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if el := l.byID[id]; el != nil {
		l.order.Remove(el)
		delete(l.byID, id)
	}
	l.gauge.Set(float64(l.order.Len()))
}

// Run has idle instances evicted until ctx ends.
func (l *List) Run(ctx context.Context) {
	every := l.cfg.Clock.NewTicker(max(l.cfg.IdleTimeout/4, 10*time.Millisecond))
	defer every.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-every.Chan():
		}
		l.mu.Lock()
		victims := idle(l.oldestFirstLocked(), l.cfg.Clock.Now().Add(-l.cfg.IdleTimeout))
		l.mu.Unlock()
		l.evict(victims)
	}
}

func (l *List) evict(victims []journal.ID) {
	for _, id := range victims {
		l.cfg.Evict(id)
	}
}

func (l *List) useLocked(el *list.Element, now time.Time) {
	el.Value = resident{el.Value.(resident).id, now}
	l.order.MoveToFront(el)
}

func (l *List) oldestFirstLocked() iter.Seq[resident] {
	return func(yield func(resident) bool) {
		for el := l.order.Back(); el != nil && yield(el.Value.(resident)); el = el.Prev() {
		}
	}
}
