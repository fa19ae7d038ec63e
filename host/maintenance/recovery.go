package host

import (
	"context"
	"time"

	"github.com/cruster/cruster/journal"
)

const (
	scanEvery = time.Minute
	scanPage  = 1000
	// sweepEvery is how often finished executions are looked over.
	sweepEvery = time.Minute
	sweepPage  = 500
)

// recoverAll brings back what was running when the last owner ended, and from
// then on looks into the store now and then for executions that are soon due and
// not in memory.
func (e *Engine) recoverAll(ctx context.Context) {
	e.scan(ctx, journal.Wake{})
	every := time.NewTicker(scanEvery)
	defer every.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-every.C:
			// What is to be loaded at once should be in memory: whoever writes that
			// wake time has the execution there. It is looked for all the same,
			// because a wake-up that was lost would otherwise be lost for ever.
			e.scan(ctx, journal.Wake{})
		}
	}
}

// scan goes through the executions that are due within the horizon.
func (e *Engine) scan(ctx context.Context, after journal.Wake) {
	until := e.now().Add(timerHorizon).UnixNano()
	for ctx.Err() == nil {
		page, err := e.store.Due(ctx, until, after, scanPage)
		if err != nil {
			e.log.Warn("looking for due executions failed; trying again", "error", err)
			wait(ctx, time.Second)
			continue
		}
		for _, w := range page {
			e.bringBack(ctx, w)
		}
		if len(page) < scanPage {
			return
		}
		after = page[len(page)-1]
	}
}

// bringBack has an execution woken at its time. It waits while the host is full:
// recovery must not do what no client may.
func (e *Engine) bringBack(ctx context.Context, w journal.Wake) {
	if w.At > e.now().UnixNano() {
		if !e.timers.has(w.ID) {
			e.timers.set(w.ID, w.At)
		}
		return
	}
	for e.inMemory() >= e.cfg.MaxExecutions && !e.holds(w.ID) && ctx.Err() == nil {
		wait(ctx, 10*time.Millisecond)
	}
	e.nudge(w.ID)
}

// sweep deletes finished executions once their time is over.
func (e *Engine) sweep(ctx context.Context) {
	every := time.NewTicker(min(sweepEvery, e.cfg.Retention))
	defer every.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		}
		for {
			n, err := e.store.Sweep(ctx, e.now().Add(-e.cfg.Retention).UnixNano(), sweepPage)
			if err != nil {
				e.log.Warn("deleting finished executions failed", "error", err)
			}
			if err != nil || n < sweepPage {
				break
			}
		}
	}
}
