package entity

import (
	"math"
	"time"
)

// pause is how long something is left alone that the host has failed at, longer each time.
type pause struct {
	failures int   // one after the other
	until    int64 // 0 if it is not left alone
}

// over ends the pause once its time has come.
func (p *pause) over(now int64) {
	if p.until <= now {
		p.until = 0
	}
}

// setback has something left alone for a while.
func (e *entity) setback(p *pause, doing string, err error) {
	p.failures++
	delay := min(50*time.Millisecond<<min(p.failures-1, 10), 30*time.Second)
	p.until = e.entities.Clock.Now().Add(delay).UnixNano()
	e.entities.Logger.Warn("entity step failed; retrying", "id", e.id, "doing", doing, "error", err, "delay", delay)
}

// retryAt is when something is tried again, or looked at; 0 if nothing is.
func (e *entity) retryAt() int64 {
	first := int64(math.MaxInt64)
	if e.holding.LookAt() != 0 {
		first = e.holding.LookAt()
	}
	for _, p := range []pause{e.reading, e.startPause} {
		if p.until != 0 {
			first = min(first, p.until)
		}
	}
	if first == math.MaxInt64 {
		return 0
	}
	return first
}
