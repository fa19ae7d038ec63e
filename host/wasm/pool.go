package wasm

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/jonboulle/clockwork"
)

// pool keeps machines of one module that are reset and wait for their next use. It is a stack: the
// machines at its bottom grow old and are closed.
type pool struct {
	mu    sync.Mutex
	idle  []*machine      // oldest first; guarded by mu
	sweep clockwork.Timer // runs while there are idle ones; guarded by mu
}

// Stats count the sources of instances.
type Stats struct {
	// Idle machines wait in pools.
	Idle int64
	// Reused instances were taken from a pool.
	Reused uint64
	// Mapped instances were made from an image.
	Mapped uint64
	// Initialized instances have run their initialisation.
	Initialized uint64
	// Discarded machines could not be reset, or found their pool full.
	Discarded uint64
	// Waiting guests have computed for long and wait for a core.
	Waiting int64
	// Refuels counts how often guests had used up a slice of fuel and called the host.
	Refuels uint64
}

type stats struct {
	idle                                   atomic.Int64
	reused, mapped, initialized, discarded atomic.Uint64
	refuels                                atomic.Uint64
}

// Stats tells how instances were made so far.
func (r *Runtime) Stats() Stats {
	return Stats{
		Idle: r.stats.idle.Load(), Reused: r.stats.reused.Load(), Mapped: r.stats.mapped.Load(),
		Initialized: r.stats.initialized.Load(), Discarded: r.stats.discarded.Load(),
		Refuels: r.stats.refuels.Load(), Waiting: r.cores.waiting.Load(),
	}
}

// takeIdle takes a machine out of the pool; nil if there is none with this image and limit of memory.
func (m *Module) takeIdle(img *image, limit int64) *machine {
	p := &m.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	for n := len(p.idle) - 1; n >= 0; n-- {
		if mc := p.idle[n]; mc.image == img && mc.limit == limit {
			p.idle = append(p.idle[:n], p.idle[n+1:]...)
			m.runtime.stats.idle.Add(-1)
			m.runtime.warm.remove(mc)
			return mc
		}
	}
	return nil
}

// putIdle resets a machine and keeps it; false says that it is of no more use.
func (m *Module) putIdle(mc *machine) bool {
	if m.runtime.cfg.IdleInstances < 0 || m.runtime.enter() != nil {
		return false
	}
	defer m.runtime.leave()
	if !mc.reset() || !m.addIdle(mc) {
		return false
	}
	m.runtime.coolOldest()
	return true
}

// addIdle keeps a machine that was reset; false if there are enough.
func (m *Module) addIdle(mc *machine) bool {
	p := &m.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.idle) >= m.runtime.cfg.IdleInstances {
		return false
	}
	mc.idleSince = m.runtime.cfg.Clock.Now()
	p.idle = append(p.idle, mc)
	m.runtime.stats.idle.Add(1)
	if mc.warm {
		m.runtime.warm.add(m, mc)
	}
	if p.sweep == nil {
		p.sweep = m.runtime.cfg.Clock.AfterFunc(m.runtime.cfg.IdleTime, m.sweepIdle)
	}
	return true
}

// sweepIdle closes the machines that have been idle for long enough.
func (m *Module) sweepIdle() {
	if m.runtime.enter() != nil {
		return // Close drains the pool
	}
	defer m.runtime.leave()
	p, now := &m.pool, m.runtime.cfg.Clock.Now()
	p.mu.Lock()
	old := 0
	for old < len(p.idle) && now.Sub(p.idle[old].idleSince) >= m.runtime.cfg.IdleTime {
		old++
	}
	swept := p.takeLocked(old)
	p.sweep = nil
	if len(p.idle) > 0 {
		p.sweep = m.runtime.cfg.Clock.AfterFunc(m.runtime.cfg.IdleTime-now.Sub(p.idle[0].idleSince), m.sweepIdle)
	}
	p.mu.Unlock()
	m.closeMachines(swept)
}

// takeLocked takes the n oldest out.
func (p *pool) takeLocked(n int) []*machine {
	taken := append([]*machine(nil), p.idle[:n]...)
	p.idle = append(p.idle[:0], p.idle[n:]...)
	clear(p.idle[len(p.idle):cap(p.idle)])
	return taken
}

// drain closes all that are idle.
func (m *Module) drain() {
	p := &m.pool
	p.mu.Lock()
	idle := p.takeLocked(len(p.idle))
	if p.sweep != nil {
		p.sweep.Stop()
		p.sweep = nil
	}
	p.mu.Unlock()
	m.closeMachines(idle)
}

func (m *Module) closeMachines(idle []*machine) {
	m.runtime.stats.idle.Add(-int64(len(idle)))
	for _, mc := range idle {
		m.closeMachine(mc)
	}
}

// closeMachine releases the resources of a machine. No call of the engine is under way.
func (m *Module) closeMachine(mc *machine) {
	m.runtime.warm.remove(mc)
	if mc.mod != nil {
		if err := mc.mod.Close(context.Background()); err != nil {
			m.runtime.cfg.Logger.Warn("close an instance", "module", m.digest, "error", err)
		}
	}
	if mc.linear != nil {
		if err := mc.linear.release(); err != nil {
			m.runtime.cfg.Logger.Warn("release the memory of an instance", "module", m.digest, "error", err)
		}
	}
	mc.mod, mc.linear, mc.globals = nil, nil, nil
}
