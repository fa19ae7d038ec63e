package host

import (
	"container/list"
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/cruster/cruster/journal"
)

// residents bounds how many workflow instances are warm: the one that was used
// longest ago goes first.
type residents struct {
	most  int
	gauge prometheus.Gauge

	mu    sync.Mutex
	order *list.List                   // guarded by mu; front = used last
	byID  map[journal.ID]*list.Element // guarded by mu
}

func newResidents(most int, gauge prometheus.Gauge) *residents {
	return &residents{most: most, gauge: gauge, order: list.New(), byID: map[journal.ID]*list.Element{}}
}

// add counts an instance in, and has others evicted if there are too many. It
// may not be called with a run's lock held.
func (rs *residents) add(id journal.ID, evict func(journal.ID)) {
	rs.mu.Lock()
	if el := rs.byID[id]; el != nil {
		rs.order.MoveToFront(el)
	} else {
		rs.byID[id] = rs.order.PushFront(id)
	}
	var victims []journal.ID
	for el := rs.order.Back(); el != nil && rs.order.Len()-len(victims) > rs.most; el = el.Prev() {
		victims = append(victims, el.Value.(journal.ID))
	}
	rs.gauge.Set(float64(rs.order.Len()))
	rs.mu.Unlock()
	for _, v := range victims {
		if v != id {
			evict(v)
		}
	}
}

func (rs *residents) remove(id journal.ID) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if el := rs.byID[id]; el != nil {
		rs.order.Remove(el)
		delete(rs.byID, id)
	}
	rs.gauge.Set(float64(rs.order.Len()))
}

// evict drops the instance of a run that rests. One that works keeps it.
func (e *Engine) evict(id journal.ID) { e.evictIf(id, func(*run) bool { return true }) }

func (e *Engine) evictIf(id journal.ID, cond func(*run) bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	r := e.runs[id]
	if r == nil {
		return
	}
	r.mu.Lock()
	evicted := !r.working && r.guest != nil && cond(r)
	if evicted {
		r.dropGuest()
	}
	r.mu.Unlock()
	if evicted {
		e.fault(FaultEvict)
		// Without an instance it may leave memory altogether.
		r.post(wakeMail{})
	}
}

// evictIdle drops instances that nobody used for a while.
func (e *Engine) evictIdle(ctx context.Context) {
	every := time.NewTicker(max(e.cfg.IdleTimeout/4, 10*time.Millisecond))
	defer every.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		}
		before := time.Now().Add(-e.cfg.IdleTimeout)
		for _, id := range e.resident.all() {
			e.evictIf(id, func(r *run) bool { return r.lastUsed.Before(before) })
		}
	}
}

func (rs *residents) all() []journal.ID {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	ids := make([]journal.ID, 0, len(rs.byID))
	for id := range rs.byID {
		ids = append(ids, id)
	}
	return ids
}
