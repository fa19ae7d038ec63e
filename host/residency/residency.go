package residency

import (
	"container/list"
	"context"
	"sync"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/cruster/cruster/host/budget"
	"github.com/cruster/cruster/host/metric"
	"github.com/cruster/cruster/journal"
)

// Config configures a [List].
type Config struct {
	// Budget gives instances their memory. The list frees memory for it.
	Budget *budget.Budget
	Clock  clockwork.Clock
	// Evict drops the instance of an execution, if it is not at work at that moment, and reports whether it did.
	// [List.Remove] takes a dropped instance off the list.
	Evict func(id journal.ID) bool
	// IdleTimeout is how long an instance stays warm without use.
	IdleTimeout time.Duration
	// Registerer takes the metrics; nil means none.
	Registerer prometheus.Registerer
}

// List knows which executions have a warm instance: the working ones, and the idle ones, by their last use.
//
// Invariant: an idle instance is in the list of idle instances. So whatever the number of instances, finding one
// to evict costs nothing, and none that could go is overlooked while another execution waits for memory.
type List struct {
	cfg   Config
	gauge prometheus.Gauge

	mu   sync.Mutex
	warm map[journal.ID]*list.Element // guarded by mu; nil while it is at work
	idle *list.List                   // guarded by mu; of idleInstance, front = used last
}

// idleInstance is an instance that has been idle since a time.
type idleInstance struct {
	id    journal.ID
	since time.Time
}

// New makes an empty list.
func New(cfg Config) *List {
	return &List{
		cfg: cfg, warm: map[journal.ID]*list.Element{}, idle: list.New(),
		gauge: metric.Gauge(cfg.Registerer, "instances_resident", "Warm instances of workflows."),
	}
}

// Admit waits until there is memory for an instance of an execution. The budget's owner chooses the memory to give up
// for it, on the caller's goroutine: see [budget.Budget.ReclaimBy]. The caller holds the permit for as long as it holds
// the instance.
func (l *List) Admit(ctx context.Context, bytes int64) (*budget.Permit, error) {
	return l.cfg.Budget.Acquire(ctx, bytes)
}

// Use says that the instance of an execution is at work: a fresh or an idle one.
func (l *List) Use(id journal.ID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if el := l.warm[id]; el != nil {
		l.idle.Remove(el)
	}
	l.warm[id] = nil
	l.gauge.Set(float64(len(l.warm)))
}

// Rest says that the instance of an execution is not at work any more. It does nothing if there is none.
func (l *List) Rest(id journal.ID) {
	l.mu.Lock()
	el, warm := l.warm[id]
	if warm && el == nil {
		l.warm[id] = l.idle.PushFront(idleInstance{id, l.cfg.Clock.Now()})
	}
	l.mu.Unlock()
	if warm {
		l.cfg.Budget.Look()
	}
}

// Remove counts an instance out.
func (l *List) Remove(id journal.ID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if el := l.warm[id]; el != nil {
		l.idle.Remove(el)
	}
	delete(l.warm, id)
	l.gauge.Set(float64(len(l.warm)))
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
		before := l.cfg.Clock.Now().Add(-l.cfg.IdleTimeout)
		for l.evictIdleSince(before) {
		}
	}
}

// EvictOldest evicts the least recently used idle instance. It reports whether there was one.
func (l *List) EvictOldest() bool { return l.evictIdleSince(l.cfg.Clock.Now()) }

// evictIdleSince evicts one instance that has been idle since a time or longer.
func (l *List) evictIdleSince(since time.Time) bool {
	for {
		id, ok := l.takeOldest(since)
		if !ok {
			return false
		}
		if l.cfg.Evict(id) {
			return true
		}
		// It has begun to work at this moment, and says so itself.
	}
}

// takeOldest takes the longest idle instance off the list of idle ones, if it has been idle since a time.
func (l *List) takeOldest(since time.Time) (id journal.ID, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	el := l.idle.Back()
	if el == nil || el.Value.(idleInstance).since.After(since) {
		return id, false
	}
	id = el.Value.(idleInstance).id
	l.idle.Remove(el)
	l.warm[id] = nil
	return id, true
}
